/* SPDX-License-Identifier: MIT
 *
 * interval.h - the interval over which changes are counted. Main thread only.
 */
#ifndef MODEL_INTERVAL_H
#define MODEL_INTERVAL_H

#include "model/model.h"

struct interval {
	uint32_t base, until;               /* changes are counted between these; until 0 = now */
	uint32_t base_wanted, until_wanted; /* survive a reconnect to the same program */
	bool of_sessions;                   /* model_set_of_sessions() */
	uint64_t generation; /* increases with each new interval, and when its amounts changed */
};

/* One slot's change between two live amounts (blocks, bytes). */
static inline struct change change_between(uint64_t b0, uint64_t y0, uint64_t b1, uint64_t y1)
{
	return (struct change){ b1 > b0 ? b1 - b0 : 0, y1 > y0 ? y1 - y0 : 0, b0 > b1 ? b0 - b1 : 0,
				y0 > y1 ? y0 - y1 : 0 };
}

static inline struct live live_of(const struct tally *t)
{
	return (struct live){ live_blocks(t), live_bytes(t) };
}

void interval_resume(struct model *m);
void interval_unsettle(struct model *m, uint32_t mark);
void interval_without(struct model *m, uint32_t mark);
void interval_clear(struct interval *x);

#endif
