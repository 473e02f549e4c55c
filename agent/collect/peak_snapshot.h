/* SPDX-License-Identifier: MIT
 *
 * peak_snapshot.h - the counters at the heap's peak, for viewers. Server thread.
 */
#ifndef MT_COLLECT_PEAK_SNAPSHOT_H
#define MT_COLLECT_PEAK_SNAPSHOT_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;
struct viewer;
struct peak_chunk;

struct peak_snapshot {
	struct peak_chunk **chunk; /* [SUM_CHUNKS] */
	uint32_t number;           /* of the peak that they hold: record/peak.h; 0 = none */
	uint32_t serial;           /* of the snapshots that were taken whole */
	bool whole;                /* false: the last one broke off, and cannot be sent */
	uint32_t walk;             /* counts the walks over all slots; a newer one ends an older */
	bool walking;
	uint32_t broken; /* tries in vain since the last one that was whole */
	uint64_t time_ns, next_ns;
	struct tally then; /* sum over its slots */
	size_t bytes;      /* mapped for its slots */
};

/* How far a viewer has one. */
struct peak_at {
	uint32_t had; /* serial of the last one that it has whole */
	uint32_t serial, slot;
};

bool peak_snapshot_init(struct server *s);
void peak_snapshot_before_pass(const struct server *s);
void peak_snapshot_tick(struct server *s); /* after a pass: takes the peak's, when due */
/* After a pass: takes it now, if there is none of this peak. False: the peak is newer than the
 * pass, or began meanwhile; another pass may do. */
bool peak_snapshot_take(struct server *s);
bool peak_snapshot_send(struct server *s, struct viewer *v); /* true = nothing is left */

#pragma GCC visibility pop

#endif
