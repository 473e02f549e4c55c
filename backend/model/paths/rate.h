/* SPDX-License-Identifier: MIT
 *
 * rate.h - the window of all rates: what was allocated and freed in the last ten seconds. What each
 * slot did in it is the columns' (heap/window.h). Main thread only.
 */
#ifndef MODEL_PATHS_RATE_H
#define MODEL_PATHS_RATE_H

#include "model/paths/types.h"

#define RATE_WINDOW_NS 10000000000ull
#define RATE_PARTS 16u

/* About a second of the window. It ends where the next one begins, or at the last tick. */
struct rate_part {
	uint64_t begin_ns;
	struct tally before; /* the totals when it began */
	/* what each thread had allocated when it began; NULL: not known. Owned */
	struct rate *threads;
	size_t thread_count;
};

struct rate_book {
	struct rate_part parts[RATE_PARTS];
	size_t first, count;
	/* All times here are running times (model/state/stops.h).
	 * The window of the rates that are shown. */
	uint64_t begin_ns;
	struct tally before;
	bool known;
};

/* The change of a slot in a tick, as the rates count it. An impossibly large one counts as 0. */
struct rate rate_of(const struct tally *grown);
/* parts that ended before the window of a tick at now_ns, the tick before it at before_ns */
size_t rates_due(const struct rate_book *r, uint64_t before_ns, uint64_t now_ns);
const struct rate_part *rates_part(const struct rate_book *r, size_t i); /* the oldest is 0 */
struct rate_part *rates_newest(struct rate_book *r);                     /* NULL: there is none */
void rates_drop(struct rate_book *r);                                    /* the oldest part */
/* Begins the part that a tick belongs to; NULL: it belongs to the newest one. `before`: the totals
 * at before_ns, the time of the tick before. */
struct rate_part *rates_open(struct rate_book *r, uint64_t before_ns, const struct tally *before);
/* The window that is shown is that of the parts from now on. */
void rates_show(struct rate_book *r);
void rates_clear(struct rate_book *r);

#endif
