/* SPDX-License-Identifier: MIT
 *
 * keys.h - memtop's key numbers (so that only screen/term.c knows curses), and the action that a
 * key means in a focus.
 */
#ifndef KEYS_H
#define KEYS_H

#include "base/base.h"
#include "screen/action.h"

/* Printable keys are their code points, control keys 1..31 and 127. */
enum key {
	KEY_NOTHING = 0,
	KEY_CTRL_C = 3,
	KEY_TAB_ = 9,
	KEY_RETURN = 13,
	KEY_ESCAPE = 27,
	KEY_SPECIAL = 0x200000, /* beyond Unicode */
	KEY_UP_ = KEY_SPECIAL,
	KEY_DOWN_,
	KEY_LEFT_,
	KEY_RIGHT_,
	KEY_PGUP,
	KEY_PGDN,
	KEY_HOME_,
	KEY_END_,
	KEY_BS,
	KEY_DEL,
	KEY_BACKTAB,
	KEY_RESIZED,
	KEY_CLICK /* term_clicked() says where */,
	KEY_WHEEL_UP,
	KEY_WHEEL_DOWN,
	KEY_FN /* F1 is KEY_FN + 1 */
};

struct action_info {
	const char *name; /* "MARK_NAMED" */
	enum focus focus;
	const char *keys; /* as in screen/action.h */
	const char *brief;
	const char *help;
};

const struct action_info *action_info(enum action r);
/* The n-th key of r, KEY_NOTHING past the last. */
int action_key(enum action r, size_t n);
/* The action of the first of foci[] (ends with FOCUS_NONE) that binds the key; else
 * FOCUS_GLOBAL's; else ACT_NONE. */
enum action action_of_key(const enum focus *foci, int key);
/* "<F5>", "^L", "s" -> key; KEY_NOTHING = not a key's name. `len` bytes are read. */
int key_parse(const char *name, size_t len);
/* All key names of r, "1 F5"; its command-line name, "mark-named" (out[32]). Both return out. */
char *action_keys(enum action r, char *out, size_t size);
char *action_word(enum action r, char *out);
bool action_named(const char *word, enum action *r);
/*
 * Replaces the table's keys, "m <F2>"; "" = none. False, with the reason: an unknown key, too many,
 * or a key of another action in the same focus.
 */
bool action_set_keys(enum action r, const char *keys, char *why, size_t size);
/* As key_parse() reads them: "m <F2>". Returns out. */
char *action_keys_written(enum action r, char *out, size_t size);
/* A key's name in the last line and on the help page: "Enter", "^L", "s". out[16]. */
char *key_label(char *out, int key);
const char *focus_title(enum focus f);
/* The whole table, for --keys and the man page: keys, command-line name, description. */
void keys_print(FILE *out);

#endif
