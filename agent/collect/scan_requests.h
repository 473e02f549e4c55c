/* SPDX-License-Identifier: MIT
 *
 * scan_requests.h - the requested scans, and the running one. Server thread.
 */
#ifndef MT_COLLECT_SCAN_REQUESTS_H
#define MT_COLLECT_SCAN_REQUESTS_H

#include "base/types.h"
#include "collect/cohorts.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

struct scans;
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

void scan_forget_request(struct scan_request *r);
void scan_end(struct scan *scan);                      /* ends the running scan */
void scan_drop(struct scans *scans, struct viewer *v); /* it goes */

#pragma GCC visibility pop

#endif
