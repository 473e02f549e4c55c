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

/* Judges rows that are no noise by their ranges. by_site: stacks, else call sites. */
void presence_judge(const struct diff *d, struct diff_rows *rows, bool by_site);
/* The most that a call site of this one's owner held in some of A's sessions, and nothing in
 * others. */
uint64_t presence_most(const struct diff *d, const struct diff_row *site);

#endif
