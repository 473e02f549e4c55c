/* SPDX-License-Identifier: MIT
 *
 * scan.h - threads, ages and memory from the live map, at viewers' requests. Server thread.
 */
#ifndef MT_COLLECT_SCAN_H
#define MT_COLLECT_SCAN_H

#include "base/types.h"
#include "collect/scan_requests.h"

#include <memtop/wire.h>

#define LAST_SCANS 2u /* threads, memory */

#pragma GCC visibility push(hidden)

struct server;
struct viewer;
struct cohorts;
struct mtw_in;

/* A whole payload that the final state has. */
struct last_scan {
	unsigned type;
	uint8_t *reply; /* SCRATCH_BYTES; NULL = there is none */
	size_t len;
};

struct scans {
	struct scan now;
	int turn;                          /* the viewer that is looked at first for the next one */
	struct last_scan last[LAST_SCANS]; /* of the final state */
	struct cohorts *last_cohorts;      /* MTW_SCAN_COHORTS likewise; NULL = none */
};

/* Its n slots, 0 = of all. False: malformed (in->bad), or no memory. */
bool scan_ask(struct viewer *v, uint64_t request, enum mtw_kind kind, struct mtw_in *in,
	      uint64_t n);
void scan_run(struct server *s);         /* when one waits */
bool scan_waits(const struct server *s); /* one was asked for, and none is under way */
/* the target is gone: who held what is alive, and in what memory */
void scan_last(struct server *s);

#pragma GCC visibility pop

#endif
