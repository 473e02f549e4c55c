/* SPDX-License-Identifier: MIT
 *
 * tick.h - applies a tick: the counters that came since the last one become current. Main thread
 * only.
 */
#ifndef MODEL_TICK_H
#define MODEL_TICK_H

#include "model/model.h"
#include "model/paths/rate.h"

/* model/bulk.c: a session is read to an instant */
struct bulk {
	bool on;
	bool merge; /* what is shown stays as it was: totals, time and snapshot wait */
	/* merge: the last tick; ticks: 0 = none came */
	uint64_t ticks, time_ns;
	uint32_t flags; /* of all ticks */
	struct totals totals;
	bool has_totals;
};

struct tick {
	struct bulk bulk;
};

/* A tick that everybody sees. */
int tick_apply(struct model *m, uint64_t time_ns, uint32_t flags, struct err *err);
/* Its counters: those of a tick at now_ns, after the one at before_ns, which had these totals.
 * rated: what they grew by counts for the rates. */
int tick_counters(struct model *m, uint64_t before_ns, uint64_t now_ns, const struct tally *before,
		  bool rated, struct err *err);
/* Counters are current: so are the tick's time, totals (NULL = none came) and flags. remember: the
 * history gets a point. */
void tick_accept(struct model *m, uint64_t time_ns, uint32_t flags, const struct totals *totals,
		 bool remember);
/* Adds a point to the history. */
void tick_remember(struct model *m, uint64_t time_ns, const struct totals *totals);
void tick_clear(struct model *m);

#endif
