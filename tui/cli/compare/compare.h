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
	struct string_pool pool;
	struct side *sides[DIFF_SESSIONS_MAX];
	size_t count;
	struct diff *diff; /* NULL after an error */
};

/* Are the operands two sides? -1 and *err: not so; `command` is what to write instead. */
int compare_check(const struct args *a, const char *command, struct err *err);
/* Reads all sides; compare_end() in any case. */
int compare_begin(struct comparison *c, const struct args *a, enum diff_value value,
		  struct err *err);
void compare_end(struct comparison *c);

#endif
