/* SPDX-License-Identifier: MIT
 *
 * samples.h - the instants that growth is judged by. Server thread.
 */
#ifndef MT_COLLECT_SAMPLES_H
#define MT_COLLECT_SAMPLES_H

#include "base/types.h"
#include "collect/slot_snapshots.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

struct server;
struct viewer;
struct mtw_out;

#define SAMPLES 32u

struct sample {
	uint32_t serial; /* from 1, never used again */
	uint32_t sent;   /* one bit per viewer: the viewer has all of `kept` */
	uint64_t time_ns, live_bytes, rss_bytes;
	/* live since the sample before: its minimum, its largest fall */
	uint64_t low_bytes, fall_bytes;
	struct snapshot kept;
};

struct samples {
	uint64_t interval_ns, next_ns;              /* of running time */
	uint64_t low_bytes, peak_bytes, fall_bytes; /* since the newest */
	uint32_t count, serial, changed;            /* changes with the list */
	bool totals_only;                           /* no memory for the slots' live bytes */
	size_t bytes;                               /* of all `kept` */
	struct sample sample[SAMPLES];              /* oldest first */
};

bool samples_init(struct server *s);
void samples_tick(struct server *s);                             /* after each pass */
void samples_newcomer(struct server *s, const struct viewer *v); /* has none */
void samples_list(const struct server *s, struct mtw_out *o);    /* MTW_SAMPLES */
bool samples_send(struct server *s, struct viewer *v); /* SAMPLE_LIVE; true = nothing is left */

#pragma GCC visibility pop

#endif
