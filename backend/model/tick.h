/* SPDX-License-Identifier: MIT
 *
 * tick.h - applies a tick: staged counters become current. Main thread only.
 */
#ifndef MODEL_TICK_H
#define MODEL_TICK_H

#include "model/model.h"
#include "model/paths/parts.h"
#include "model/paths/rate.h"

struct staged {
	uint32_t slot;
	struct tally now;
}; /* slot: dense */

/* The change of a sum and of all above it in this tick. */
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
 * A tick in progress, perhaps in slices. It is computed beside the current state and stays
 * invisible until it takes effect. Then all of it shows at once, though the nodes' own figures
 * follow in slices (folding). Data that arrives meanwhile is staged for the next tick.
 */
struct tick_job {
	bool busy;
	uint64_t time_ns;
	uint32_t flags;
	struct totals totals;
	bool has_totals;
	bool all; /* all sums are recomputed from the slots */
	/* Several ticks at once: their changes are in the window already. The old rates of slots
	 * before `unrated` are taken back, those of parts before `expired` are added. */
	bool merged;
	size_t unrated;
	struct staged *staged;
	size_t count, room;
	bool rated;           /* the tick's changes count for rates */
	size_t due, expiring; /* parts of the rates' window to take back, entries in them */
	/* progress: part and entry, staged slot, level of the walk and place in it */
	size_t expired, entry, at;
	size_t next;
	bool estimates; /* a stack got its first sampled share */
	/* It took effect. Deltas before `folded` are already in the sums; changes before
	 * `rates_folded` are already in the slots' rates. */
	bool folding;
	size_t folded, rates_folded;
	bool no_interval; /* changes count from the start to now since it began */
	bool waits;       /* a tick arrived meanwhile, */
	bool partial;     /* and part of the next one's data */
	uint64_t wait_ns;
	uint32_t wait_flags;
};

/* model/bulk.c */
struct bulk {
	bool on;
	bool merge;            /* what is shown stays as it was: slots, totals and time wait, too */
	struct staged *coming; /* not checked yet; slot: the wire's */
	size_t coming_count, coming_room;
	/* merge: slots of this tick, with their counters before it */
	struct staged *changed;
	size_t changed_count, changed_room;
	/* merge: the last tick; ticks: 0 = none came */
	uint64_t ticks, time_ns;
	uint32_t flags; /* of all ticks */
	struct totals totals;
	bool has_totals;
	/* bulk_sum(): done so far, since the model was as it is: `of` */
	struct parts sums, rates;
	uint64_t of;
};

struct tick {
	struct staged *staged;
	size_t staged_count, staged_room;
	/* dense; since the current tick began */
	struct weighed {
		uint32_t slot;
		bool sampled;
	} * weighed;
	size_t weighed_count, weighed_room;
	struct tick_job job;
	bool sliced; /* model_go_on() applies large ticks */
	struct bulk bulk;
	struct delta *deltas;
	/* inclusive, beside the deltas; only while changes are counted */
	struct change *delta_moves;
	size_t delta_count, delta_room, delta_moves_room;
	struct level *levels;           /* per depth */
	size_t level_count, level_room; /* count: depths with deltas lie below */
	/* changes for observers; NULL = none, or anything may have changed */
	struct model_changes *changes;
	bool told; /* the list covers this tick; else anything may have changed */
};

/* The delta of a tick in effect that is not folded into the sum yet. */
static inline const struct delta *unfolded(const struct tick *x, const struct sum *s)
{
	return x->job.folding && s->delta ? &x->deltas[s->delta - 1] : NULL;
}

int tick_stage(struct model *m, uint32_t slot, const struct tally *now, struct err *err);
/* ... without a check; index: dense */
void tick_put(struct model *m, uint32_t index, const struct tally *now);
/* sets whether the slot (dense) is sampled from now on */
void tick_weigh(struct model *m, uint32_t index, bool sampled);
void tick_begin(struct model *m, uint64_t time_ns, uint32_t flags); /* starts on the staged data */
bool tick_go_on(struct model *m, uint64_t end_ns);                  /* true: done */
/* Counters are current: so are the tick's time, totals (NULL = none came) and flags. */
void tick_accept(struct model *m, uint64_t time_ns, uint32_t flags, const struct totals *totals);
/* Moves the rates' window for a tick after the one at before_ns, which had these totals: drops the
 * `due` oldest parts; rated: has a part for its changes. */
void tick_move_window(struct model *m, size_t due, bool rated, uint64_t before_ns,
		      const struct tally *before);
/* Adds a point to the history. */
void tick_remember(struct model *m, uint64_t time_ns, const struct totals *totals);
/* starts on what m->tick.bulk has merged */
void tick_begin_merged(struct model *m);
void tick_sum_all(struct model *m); /* recomputes all inclusive sums from the slots */
void tick_clear(struct model *m);
void tick_release(struct tick *x); /* after that */

#endif
