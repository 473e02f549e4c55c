/* SPDX-License-Identifier: MIT
 *
 * interval.h - the interval that BORN, GONE and NET count, between two marks or from one to now:
 * its name and its change. 0 means the program's start as the first mark, and now as the second.
 * Main thread.
 */
#ifndef INTERVAL_H
#define INTERVAL_H

#include "link/watch.h"

/* "m2" or "m2 warm" */
void interval_mark_name(const struct model *m, uint32_t mark, char *out, size_t size);
/* "since m2 warm" or "m1 .. m3 after 2k"; brief: without the marks' own names. */
void interval_name(const struct model *m, bool brief, char *out, size_t size);
/* Sets the interval of BORN, GONE, NET; 0, 0: no diff. Reports in the status line and returns a
 * handler's bits: VIEW_RESORT = success. */
unsigned interval_set(struct model *m, uint32_t from, uint32_t to);

/* It ends at a mark, not now. */
static inline bool interval_between(const struct model *m)
{
	return model_until(m) != 0;
}

#endif
