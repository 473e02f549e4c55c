/* SPDX-License-Identifier: MIT
 *
 * tick.h - applies a tick: staged counters become current. Main thread only.
 */
#ifndef MODEL_TICK_H
#define MODEL_TICK_H

#include "model/rate.h"

struct staged {
	uint32_t slot;
	struct tally now;
}; /* slot: dense */

/* What a sum and all above it get in this tick. */
struct delta {
	struct tally incl;
	struct rate rate;
	uint32_t sampled;
	uint32_t sum, up; /* numbers; up: NO_ID = none */
};
struct level {
	uint32_t *deltas;
	size_t count, room;
}; /* of one depth: indices */

/*
 * A tick that is being taken in, perhaps in slices. Nothing of it is seen before it takes effect:
 * until then it is worked out beside what is there. Then all of it is, though the nodes' own
 * figures follow by and by (folding). What comes meanwhile is staged for the next one.
 */
struct tick_job {
	bool busy;
	uint64_t time_ns;
	uint32_t flags;
	struct totals totals;
	bool has_totals;
	bool all; /* all sums are made anew, from the slots */
	struct staged *staged;
	size_t count, room;
	struct rate_batch batch; /* of this tick */
	bool has_batch;
	double weight;
	size_t due, expiring; /* batches of rates that are taken back, entries in them */
	/* how far it is: batch and entry, staged slot, level of the walk and place in it */
	size_t expired, at;
	const struct rate_block *block;
	uint32_t entry;
	size_t next;
	bool estimates; /* a stack has its first share that was sampled */
	/* It took effect. Deltas before `folded` are already in the sums; changes before `rated`
	 * are already in the slots' rates. */
	bool folding;
	size_t folded, rated;
	bool no_interval; /* changes count from the start to now since it began */
	bool waits;       /* a tick came meanwhile, */
	bool partial;     /* and a part of what belongs to the next one */
	uint64_t wait_ns;
	uint32_t wait_flags;
};

struct tick {
	struct staged *staged;
	size_t staged_count, staged_room;
	/* dense; since the tick began that is being taken in */
	struct weighed {
		uint32_t slot;
		bool sampled;
	} * weighed;
	size_t weighed_count, weighed_room;
	struct tick_job job;
	bool sliced; /* large ticks are taken in by model_go_on() */
	struct delta *deltas;
	struct change *delta_moves; /* inclusive, beside them; only while changes are counted */
	size_t delta_count, delta_room, delta_moves_room;
	struct level *levels;           /* per depth */
	size_t level_count, level_room; /* count: depths with deltas lie below */
	/* what observers see; NULL = none, or anything may have changed */
	struct model_changes *changes;
	bool told; /* ... in this tick; else that anything may have changed */
};

/* What a tick that took effect has not given to the sum yet. */
static inline const struct delta *unfolded(const struct tick *x, const struct sum *s)
{
	return x->job.folding && s->delta ? &x->deltas[s->delta - 1] : NULL;
}

int tick_stage(struct model *m, uint32_t slot, const struct tally *now, struct err *err);
/* the slot, dense: what is booked to it from now on */
void tick_weigh(struct model *m, uint32_t index, bool sampled);
void tick_begin(struct model *m, uint64_t time_ns, uint32_t flags); /* what is staged */
bool tick_go_on(struct model *m, uint64_t end_ns);                  /* true: it is taken in */
void tick_clear(struct model *m);
void tick_release(struct tick *x); /* after that */

#endif
