/* SPDX-License-Identifier: MIT
 *
 * instants.h - the instants at which the session is complete, and the instant of each scan's
 * answer. Main thread only.
 */
#ifndef MODEL_HISTORY_INSTANTS_H
#define MODEL_HISTORY_INSTANTS_H

#include "model/paths/types.h"

/* at this they thin out by their age: 1 MiB, an hour and 49 minutes of ticks */
#define INSTANTS_MAX (1u << 16)

struct instants {
	struct instant *list; /* by time */
	size_t count, room;
	uint64_t ticks_read; /* ticks of this program, whether they took effect or not */
	/* session time of the newest answer of a kind; 0 = none came */
	uint64_t looked_ns[MTW_KIND_COUNT];
	uint64_t answers[MTW_KIND_COUNT]; /* their number, including empty ones */
};

/* Before each tick: is there no room for it? */
bool instants_full(const struct instants *x);
/* The rule of base/ages.h. Also stay: the first and the last one, and the last one up to each of
 * these times, which ascend. */
void instants_thin(struct instants *x, const uint64_t *pins, size_t n);
void instants_tick(struct instants *x, uint64_t time_ns, uint32_t flags);
/* time_ns 0: at the last tick, tick_ns */
void instants_looked(struct instants *x, enum mtw_kind kind, uint64_t time_ns, uint64_t tick_ns);
/* of those up to the last of these ticks, only theirs */
void instants_keep(struct instants *x, const uint64_t *ticks, size_t n);
void instants_clear(struct instants *x);

#endif
