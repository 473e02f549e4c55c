/* SPDX-License-Identifier: MIT
 *
 * interval.h - the interval over which changes are counted. Main thread only.
 */
#ifndef MODEL_INTERVAL_H
#define MODEL_INTERVAL_H

#include "model/model.h"

/*
 * Another interval to count changes in, being worked out beside the one in force. Between ticks: no
 * slot, and nothing of a node, moves from its begin to its end; those that come meanwhile hold
 * nothing yet.
 */
/* at: of the marks up to it */
struct live_job {
	struct live *live;
	uint32_t mark;
	size_t at, cell;
};
struct interval_job {
	bool busy, begun;
	struct live_job from, to;
	struct change *moves; /* by number of the sum */
	uint32_t slot_count, node_count, sum_count;
	/* slots before are in their sums, those of nodes from left on in the next above */
	uint32_t slot, left;
};

struct interval {
	uint32_t base, until; /* what changes are counted from and to; until 0 = now */
	/* of the slots that there were when the interval was set; NULL = start, now */
	struct live *at_base, *at_until;
	size_t at_count;
	struct change *moves; /* by number of the sum; NULL = from the start to now */
	size_t moves_room;
	uint32_t base_wanted, until_wanted; /* survive a reconnect to the same program */
	struct interval_job job;
	uint64_t generation; /* moves with the interval */
};

/* Are inclusive changes kept, and do they move? */
static inline bool moving(const struct interval *x)
{
	return x->moves && !x->until; /* between two marks nothing moves any more */
}

/* From (blocks, bytes) alive to (blocks, bytes) alive, of one slot. */
static inline struct change change_between(uint64_t b0, uint64_t y0, uint64_t b1, uint64_t y1)
{
	return (struct change){ b1 > b0 ? b1 - b0 : 0, y1 > y0 ? y1 - y0 : 0, b0 > b1 ? b0 - b1 : 0,
				y0 > y1 ? y0 - y1 : 0 };
}

static inline struct live live_of(const struct tally *t)
{
	return (struct live){ live_blocks(t), live_bytes(t) };
}

/* In the interval; index: of the slot, dense; now: its counters. */
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

/* It is worked out from now on, or in force when it is from the start to now. -1: a mark cannot
 * say. */
int interval_ask(struct model *m, uint32_t from, uint32_t to);
/* while it is busy, between ticks; true: it is in force */
bool interval_go_on(struct model *m, uint64_t end_ns);
void interval_sum_moves(struct model *m); /* inclusive changes anew */
void interval_resume(struct model *m);
void interval_unsettle(struct model *m, uint32_t mark);
void interval_without(struct model *m, uint32_t mark);
void interval_clear(struct interval *x);

#endif
