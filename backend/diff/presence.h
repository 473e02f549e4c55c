/* SPDX-License-Identifier: MIT
 *
 * presence.h - rows that are there or not by chance. Main thread only.
 *
 * Ranges (diff/noise.h) cannot judge a row that all of A's sessions have and none of B's: neither
 * side has a spread. Rows of the same kind that come and go within one side tell what chance does:
 * of stacks those of the same call site, of call sites those of the same owner. Where there are
 * such, a row in one side alone is a change only if it holds more than each of them, or if there
 * are so many sessions that chance does it to fewer than one row in a hundred diffs.
 */
#ifndef DIFF_PRESENCE_H
#define DIFF_PRESENCE_H

#include "diff/diff.h"

/* Of which kind is a joined stack? Equal numbers: of one. */
typedef uint64_t (*presence_kind_fn)(const struct diff *d, uint32_t joined);
uint64_t presence_by_owner(const struct diff *d, uint32_t joined); /* for call sites */
/* Judges rows that are no noise by their ranges. */
void presence_judge(const struct diff *d, struct diff_rows *rows, presence_kind_fn kind);
/* The most that a call site of this one's owner held in some of A's sessions, and nothing in
 * others. */
uint64_t presence_most(const struct diff *d, const struct diff_row *site);

#endif
