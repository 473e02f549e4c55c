/* SPDX-License-Identifier: MIT
 *
 * scan_requests.h - the requested scans, the running one, and the last ones of the final state.
 * Server thread.
 */
#ifndef MT_COLLECT_SCAN_REQUESTS_H
#define MT_COLLECT_SCAN_REQUESTS_H

#include "base/types.h"
#include "collect/cohorts.h"

#include <memtop/wire.h>

#define LAST_SCANS 2u /* threads, memory */

#pragma GCC visibility push(hidden)

struct viewer;

struct scan_request { /* that waits for its turn */
	bool waits;
	uint64_t request;
	uint64_t *slots; /* bitmap, NULL = all */
};

struct scan {
	int viewer; /* its viewer; -1 = none is running */
	enum mtw_kind kind;
	uint64_t request;
	uint8_t *reply; /* finished payload, in SCRATCH_BYTES; NULL = not yet, or: */
	size_t reply_len;
	struct cohorts *cohorts; /* sent in parts */
	struct cohorts_at at;
	uint64_t begun_ns, moved_ns; /* moved when a part was sent */
};

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

void scan_forget_request(struct scan_request *r);
void scan_end(struct scan *scan);                      /* ends the running scan */
void scan_drop(struct scans *scans, struct viewer *v); /* it goes */

#pragma GCC visibility pop

#endif
