/* SPDX-License-Identifier: MIT
 *
 * theme.h - meaning -> colour. A theme is a file of lines "role = fg bg attributes":
 *     fg, bg: default, black red green yellow blue magenta cyan white, bright-..., 0..255, #rrggbb
 *     attributes: bold dim underline reverse, any number
 * '#' starts a comment line. A wrong line is reported and skipped. Main thread.
 */
#ifndef THEME_H
#define THEME_H

#include "base/base.h"

/* clang-format off */
#define ROLES(X)                                                                                   \
	X(NORMAL, "normal") X(DIM, "dim") X(HEADER, "header") X(HEADER_STRONG, "header-strong")    \
	X(HEADER_WARNING, "header-warning") X(HEADER_BAD, "header-bad")                            \
	X(GOOD, "good") X(BAD, "bad") X(WARNING, "warning") X(TAB, "tab")                          \
	X(TAB_ACTIVE, "tab-active")                                                                \
	X(HEAD, "column-head") X(HEAD_SORTED, "column-sorted") X(SELECTED, "selected")             \
	X(SELECTED_IDLE, "selected-idle") X(NUMBER, "number") X(PLUS, "plus") X(MINUS, "minus")    \
	X(NAME, "name") X(PLACE, "place") X(HIT, "hit") X(BORDER, "border")                        \
	X(BORDER_FOCUS, "border-focus") X(TITLE, "title") X(ALLOC, "alloc") X(FREE, "free")        \
	X(MARK, "mark") X(KEY, "key") X(HINT, "hint") X(PROMPT, "prompt")                          \
	X(OWNER0, "owner-1") X(OWNER1, "owner-2") X(OWNER2, "owner-3") X(OWNER3, "owner-4")        \
	X(OWNER4, "owner-5") X(OWNER5, "owner-6") X(OWNER6, "owner-7") X(OWNER7, "owner-8")
/* clang-format on */

enum role {
#define X(id, name) ROLE_##id,
	ROLES(X)
#undef X
		ROLE_COUNT
};
#define OWNER_ROLES 8

enum { STYLE_BOLD = 1, STYLE_DIM = 2, STYLE_UNDERLINE = 4, STYLE_REVERSE = 8 };

#define COLOUR_DEFAULT (-1)
#define COLOUR_RGB 0x1000000 /* | rrggbb */

struct style {
	int fg, bg;
	unsigned attrs;
};

struct theme {
	char name[64];
	struct style styles[ROLE_COUNT];
};

/*
 * Reads a theme's text over what *t holds. Calls wrong(arg, line number, why) for each line that is
 * not understood; returns how many there were.
 */
size_t theme_parse(const char *text, struct theme *t,
		   void (*wrong)(void *arg, size_t line, const char *why), void *arg);
/* Every role plain; what differs only in bold, underline or reverse. Used when no file is found. */
void theme_plain(struct theme *t);

/* Name or path, NULL = dark. -1, *err: no such file; 0 with wrong lines said in *err. */
int theme_load(const char *name, struct theme *t, struct err *err);
/* Names that can be loaded, sorted; *list is the module's own. */
size_t theme_names(const char *const **list);

/* The theme in use, for screen/draw.c; colours are fitted to what the terminal has (NO_COLOR:
 * none). */
void theme_use(const struct theme *t);
const struct theme *theme_current(void);
bool theme_has_colour(void);

#endif
