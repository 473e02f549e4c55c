/* SPDX-License-Identifier: MIT
 *
 * interval.h - the interval over which changes are counted. Main thread only.
 */
#ifndef MODEL_INTERVAL_H
#define MODEL_INTERVAL_H

#include "model/model.h"

/* Each slot's live amount at `mark`, from the marks up to it: those before `at` are applied, of
 * mark `at` the cells before `cell`. */
struct live_job {
	struct live *live;
	uint32_t mark;
	size_t at, cell;
};
/* The next interval, computed beside the one in force, between ticks. Meanwhile the amounts of
 * existing slots and nodes do not change; slots and nodes that are added hold nothing yet. */
struct interval_job {
	bool busy, begun;
	struct live_job from, to;
	struct change *moves; /* by number of the sum */
	uint32_t slot_count, node_count, sum_count;
	/* slots before `slot` are added to their sums; the sums of nodes from `left` on are added
	 * to the next sum above */
	uint32_t slot, left;
};

struct interval {
	uint32_t base, until; /* changes are counted between these; until 0 = now */
	/* for the slots that existed when the interval was set; NULL = start, now */
	struct live *at_base, *at_until;
	size_t at_count;
	struct change *moves; /* by number of the sum; NULL = from the start to now */
	size_t moves_room;
	uint32_t base_wanted, until_wanted; /* survive a reconnect to the same program */
	struct interval_job job;
	bool of_sessions;    /* model_set_of_sessions() */
	uint64_t generation; /* increases with each new interval */
};

/* Do inclusive changes exist, and do they move? */
static inline bool moving(const struct interval *x)
{
	return x->moves && !x->until; /* between two marks nothing moves */
}

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

/* A slot's change in the interval; index: dense; now: its counters. */
static inline struct change slot_change(const struct interval *x, uint32_t index,
					const struct tally *now)
{
	struct live from = { 0, 0 }, to = from;

	if (x->at_base && index < x->at_count)
		from = x->at_base[index];
	if (!x->until)
		to = live_of(now);
	else if (index < x->at_count)
		to = x->at_until[index];
	return change_between(from.blocks, from.bytes, to.blocks, to.bytes);
}

/* Starts computing the interval. The one from the start to now (0, 0) needs no work and takes
 * effect at once. -1: a mark has no amounts. */
int interval_ask(struct model *m, uint32_t from, uint32_t to);
/* call it between ticks while busy; true: it is in force */
bool interval_go_on(struct model *m, uint64_t end_ns);
void interval_sum_moves(struct model *m); /* recomputes inclusive changes */
void interval_resume(struct model *m);
void interval_unsettle(struct model *m, uint32_t mark);
void interval_without(struct model *m, uint32_t mark);
void interval_clear(struct interval *x);

#endif
