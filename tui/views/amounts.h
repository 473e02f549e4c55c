/* SPDX-License-Identifier: MIT
 *
 * amounts.h - the columns of rows that begin with struct amounts: each is written once, and every
 * view lists the ones that it shows. Main thread.
 */
#ifndef VIEWS_AMOUNTS_H
#define VIEWS_AMOUNTS_H

#include "widgets/cells.h"

/* BYTES/s, which may stand beside CALLS/s; a view's own orders begin after it. */
enum { BY_BYTES_RATE = BY_OWN, BY_VIEW };

extern const struct column column_live,       /* bytes, or their share where the user asks for it */
	column_live_now,                      /* beside an interval whose end is not now */
	column_held,                          /* LIVE in bytes alone */
	column_blocks, column_in_all,         /* IN ALL: bytes allocated since the start */
	column_calls, column_bytes_rate,      /* per second */
	column_born, column_gone, column_net, /* in the interval; BORN - GONE */
	column_more_blocks, column_net_blocks; /* the same of blocks: BLOCKS+, and titled BLOCKS */

/* Of two sessions, where the interval is from A to B. */
extern const struct column column_a, column_b, column_judged;
/* The first columns of a comparison: A's rank; those of B and of the blocks follow. */
#define COMPARED_COLUMNS(first)                                                                    \
	SHOW(a, (first)), SHOW(b, (first) + 1), SHOW(net), SHOW(judged, 1),                        \
		SHOW(more_blocks, (first) + 2)

/* Of the view's ages (views/ages.h). */
extern const struct column column_age, column_oldest;
/* Of the view's procs (views/procs.h). */
extern const struct column column_procs;

#endif
