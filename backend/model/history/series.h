/* SPDX-License-Identifier: MIT
 *
 * series.h - the history: points oldest first, denser the younger they are. Main thread only.
 *
 * First come the agent's own points (since it was loaded), then one per tick, ten a second at most.
 * They thin out by the rule of base/ages.h up to two hours, and all older time keeps some six
 * hundred, so that a graph is sharp over ten seconds and over a month. The first and the newest
 * point always stay.
 */
#ifndef MODEL_HISTORY_SERIES_H
#define MODEL_HISTORY_SERIES_H

#include "model/paths/types.h"

#define SERIES_MAX 3000
#define SERIES_AGENT_MAX 600 /* the agent has no more points; more are dropped */

struct series {
	struct point points[SERIES_MAX];
	uint64_t owner_bytes[SERIES_AGENT_MAX][MTW_HISTORY_OWNERS_MAX]; /* of the agent's points */
	size_t count, from_agent;                /* the first from_agent points have owner_bytes */
	uint32_t owners[MTW_HISTORY_OWNERS_MAX]; /* modules of owner_bytes' columns */
	size_t owner_count;
	uint64_t spacing_ns; /* spacing of the oldest points; 0 = never thinned */
};

void series_clear(struct series *s);
void series_start(struct series *s, const uint32_t *owners, size_t count);
void series_agent(struct series *s, const struct point *p, const uint64_t *owner_bytes);
void series_tick(struct series *s, const struct point *p);
/* Appends the points of `more` after the last one: the agent ran while memtop was away. */
void series_join(struct series *s, const struct series *more);

#endif
