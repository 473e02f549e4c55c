/* SPDX-License-Identifier: MIT
 *
 * compare.h - the two sides that `memtop diff` and `memtop open --diff` compare: A B, or A... --
 * B..., each a target or an instant of one. Main thread.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "cli/base/verbs.h"
#include "diff/diff.h"

struct comparison {
	char *words[DIFF_SESSIONS_MAX]; /* owned: targets, and instants of them; A's first */
	struct string_pool pool;
	struct side *sides[DIFF_SESSIONS_MAX];
	size_t count, count_a;
	struct diff *diff; /* NULL after an error */
};

/* The two sides of a command line: its operands, at the instants of its options. -1 and *err: they
 * are none; `command` is what to write instead. compare_end() in any case. */
int compare_words(struct comparison *c, const struct args *a, const char *command, struct err *err);
/* Reads all sides. */
int compare_begin(struct comparison *c, const struct args *a, enum diff_value value,
		  struct err *err);
void compare_end(struct comparison *c);

#endif
