/* SPDX-License-Identifier: MIT
 *
 * stretch.h - a table that grows at its end and keeps its place. Only what is mapped counts as the
 * process's memory: for limits, and for mlockall(). Any thread, no locks.
 */
#ifndef MT_BASE_STRETCH_H
#define MT_BASE_STRETCH_H

#include "base/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Zeros: nothing is mapped. */
struct stretch {
	uintptr_t start;
	size_t most; /* bytes, of all of its addresses */
	enum part part;
	_Atomic size_t xbytes;    /* mapped, from the start on */
	_Atomic uint32_t xfailed; /* attempts to map more, since the last one that did */
};

/* `first` bytes are mapped at once; where there is no area, all are. NULL = no memory. */
void *mt_stretch_begin(struct stretch *s, size_t first, size_t most, enum part part);
/* Are the first `bytes` mapped? False: no memory. */
bool mt_stretch_reach(struct stretch *s, size_t bytes);
void mt_stretch_drop(struct stretch *s,
		     size_t from); /* gives the pages from there on back, as zeros */

#pragma GCC visibility pop

#endif
