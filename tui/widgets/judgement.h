/* SPDX-License-Identifier: MIT
 *
 * judgement.h - in a diff of sessions, what a row's change is: a cell, and a sentence. Main thread.
 */
#ifndef JUDGEMENT_H
#define JUDGEMENT_H

#include "diff/judgement.h"
#include "widgets/cells.h"

/* For column.title, and below it: "grown", "new", "noise"; nothing for a row of several. */
#define JUDGEMENT_TITLE "KIND"
#define JUDGEMENT_WIDTH 6
/* The first columns of a comparison, in a view's own S_A, S_B ...; first: A's rank; those of B
 * and of the blocks follow. */
/* clang-format off */
#define JUDGED_COLUMNS(first)                                                                      \
	[S_A] = { .title = "A", .width = 8, .bytes = SIZE_HELD, .rank = (first), .sort = -1 },     \
	[S_B] = { .title = "B", .width = 8, .bytes = SIZE_HELD, .rank = (first) + 1,               \
	  .sort = BY_LIVE },                                                                       \
	[S_NET] = { .title = "NET", .width = 9, .bytes = SIZE_HELD, .sort = BY_NET },              \
	[S_KIND] = { .title = JUDGEMENT_TITLE, .width = JUDGEMENT_WIDTH, .rank = 1, .sort = -1,    \
	  .left = true },                                                                          \
	[S_BLOCKS] = { .title = "BLOCKS+", .width = 8, .rank = (first) + 2, .sort = -1 }
/* clang-format on */
void judgement_cell(struct cell c, const struct diff_judgement *j);
/* "Noise: A's 3 sessions hold 1.1M to 1.3M, B's 3 hold 1.2M to 1.4M."; "" where noise is not
 * judged. */
void judgement_words(const struct diff *d, const struct diff_judgement *j, char *out, size_t size);

#endif
