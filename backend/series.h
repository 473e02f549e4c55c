/* SPDX-License-Identifier: MIT
 *
 * series.h - the history: at most SERIES_MAX points, oldest first. Main thread only.
 *
 * First the agent's own points (since it was loaded), then one per tick. When the room is used
 * up every second point is dropped and the spacing doubles. The newest point is always the
 * newest tick: it is replaced until it lies a whole spacing after the one before.
 */
#ifndef SERIES_H
#define SERIES_H

#include "model.h"

#define SERIES_MAX 600

struct series {
	struct point points[SERIES_MAX];
	uint64_t owner_bytes[SERIES_MAX][MTW_HISTORY_OWNERS_MAX]; /* of the agent's points */
	size_t count, from_agent;     /* the first from_agent points have owner_bytes */
	uint32_t owners[MTW_HISTORY_OWNERS_MAX]; /* modules of owner_bytes' columns */
	size_t owner_count;
	uint64_t spacing_ns;
};

void series_clear(struct series *s);
void series_start(struct series *s, uint64_t spacing_ns, const uint32_t *owners, size_t count);
void series_agent(struct series *s, const struct point *p, const uint64_t *owner_bytes);
void series_tick(struct series *s, const struct point *p);

#endif
