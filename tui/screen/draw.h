/* SPDX-License-Identifier: MIT
 *
 * draw.h - draws text in roles of the theme, clipped to a rectangle of the screen whatever the
 * arguments. Main thread, while the terminal is on.
 */
#ifndef DRAW_H
#define DRAW_H

#include "screen/text.h"
#include "screen/theme.h"

struct area {
	int y, x, h, w;
};

void draw_start(void); /* once, after term_start(): reads the terminal's colours */
void draw_clear(void); /* a new screen begins */

/* Columns used; at row y, column x of the area, in at most `width` columns (< 0: to the edge). */
int draw_clip(const struct area *a, int y, int x, int width, enum role r, enum clip how,
	      const char *s);
int draw_text(const struct area *a, int y, int x, enum role r, const char *s);
int draw_printf(const struct area *a, int y, int x, enum role r, const char *format, ...)
	PRINTF(5, 6);
/* Bytes of s that fit in `width` columns, up to a word's end; all of it when no word fits. */
size_t draw_words_fit(const char *s, int width);
/* Wraps at words, from row y on, over as many rows as needed. */
void draw_words(const struct area *a, int y, int x, enum role r, const char *s);
/* Right-aligned in `width` columns. */
void draw_right(const struct area *a, int y, int x, int width, enum role r, const char *s);
void draw_fill(const struct area *a, int y, int x, int width, enum role r);
/* Reverse video of a role: a cell filled with its colour, for bands. */
int draw_band(const struct area *a, int y, int x, enum role r, const char *s);
void draw_rule(const struct area *a, int y, enum role r, const char *title);
/* A border with a title; returns what is inside. */
struct area draw_box(const struct area *a, const char *title, bool focus);
/* Until draw_overlay(-1): rows drawn carry this role's background (the selection). */
void draw_overlay(int role);
int draw_overlaid(void); /* the role; -1 = none */

struct owner;
enum role draw_owner_role(char letter);

/* Part of an area: negative h or w = what is left. */
struct area area_sub(const struct area *a, int y, int x, int h, int w);

#endif
