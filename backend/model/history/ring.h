/* SPDX-License-Identifier: MIT
 *
 * ring.h - totals of the last ticks, and the rates computed from them. Main thread only.
 */
#ifndef MODEL_HISTORY_RING_H
#define MODEL_HISTORY_RING_H

#include "model/paths/types.h"

struct ring {
	struct {
		uint64_t time_ns;
		struct tally sum;
	} at[256];
	size_t first, count;
};

void ring_push(struct ring *r, uint64_t time_ns, const struct tally *sum);
/* per second, over so many ns at most */
struct rates ring_over(const struct ring *r, uint64_t window);

#endif
