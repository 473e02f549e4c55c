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

/* A complete payload of the final state. */
struct last_scan {
	unsigned type;
	uint8_t *reply; /* SCRATCH_BYTES; NULL = there is none */
	size_t len;
};

struct scans {
	struct scan now;
	int turn;                          /* the viewer whose requests are tried first next time */
	struct last_scan last[LAST_SCANS]; /* of the final state */
	struct cohorts *last_cohorts;      /* MTW_SCAN_COHORTS likewise; NULL = none */
};

/* Requests cohorts of these n slots, 0 = of all. False: malformed (in->bad), or no memory. */
bool scan_ask(struct viewer *v, uint64_t request, enum mtw_kind kind, struct mtw_in *in,
	      uint64_t n);
void scan_run(struct server *s);         /* when one waits */
bool scan_waits(const struct server *s); /* a scan was requested, and none is running */
/* the target is gone: makes the final scans of threads, ages and memory */
void scan_last(struct server *s);

#pragma GCC visibility pop

#endif
