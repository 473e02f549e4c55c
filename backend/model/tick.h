/* SPDX-License-Identifier: MIT
 *
 * tick.h - applies a tick: staged counters become current. Main thread only.
 */
#ifndef MODEL_TICK_H
#define MODEL_TICK_H

#include "model/model.h"
#include "model/paths/rate.h"

struct staged {
	uint32_t slot;
	struct tally now;
}; /* slot: dense */

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
};

struct tick {
	struct staged *staged;
	size_t staged_count, staged_room;
	struct bulk bulk;
};

int tick_stage(struct model *m, uint32_t slot, const struct tally *now, struct err *err);
/* ... without a check; index: dense */
void tick_put(struct model *m, uint32_t index, const struct tally *now);
/* sets whether the slot (dense) is sampled from now on */
void tick_weigh(struct model *m, uint32_t index, bool sampled);
/* At a greeting: an older memtop's key frame had no first epoch. */
void tick_sum_inherited(struct model *m);
/* The staged counters become the slots'. rated: what they grew by counts for the rates. */
void tick_commit(struct model *m, bool rated);
/* What a slot (dense) grew by counts for the rates; s: that slot. */
void tick_rate(struct model *m, struct slot *s, uint32_t slot, const struct rate *change);
/* A tick that everybody sees. */
void tick_apply(struct model *m, uint64_t time_ns, uint32_t flags);
/* Counters are current: so are the tick's time, totals (NULL = none came) and flags. remember: the
 * history gets a point. */
void tick_accept(struct model *m, uint64_t time_ns, uint32_t flags, const struct totals *totals,
		 bool remember);
/* Moves the rates' window to a tick at now_ns, after the one at before_ns, which had these totals.
 * rated: it has a part for the tick's changes. */
void tick_move_window(struct model *m, uint64_t before_ns, uint64_t now_ns,
		      const struct tally *before, bool rated);
/* Adds a point to the history. */
void tick_remember(struct model *m, uint64_t time_ns, const struct totals *totals);
void tick_clear(struct model *m);
void tick_release(struct tick *x);

#endif
