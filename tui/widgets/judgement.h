/* SPDX-License-Identifier: MIT
 *
 * judgement.h - in a diff of sessions, what a row's change is: a cell, and a sentence. Main thread.
 */
#ifndef JUDGEMENT_H
#define JUDGEMENT_H

#include "diff/judgement.h"
#include "widgets/cells.h"

/* The column's title, and a cell: "grown", "new", "noise"; nothing for a row of several. */
#define JUDGEMENT_TITLE "KIND"
void judgement_cell(struct cell c, const struct diff_judgement *j);
/* "Noise: A's 3 sessions hold 1.1M to 1.3M, B's 3 hold 1.2M to 1.4M."; "" where noise is not
 * judged. */
void judgement_words(const struct diff *d, const struct diff_judgement *j, char *out, size_t size);

#endif
