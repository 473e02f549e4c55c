/* SPDX-License-Identifier: MIT
 *
 * scan_requests.c - forgets scans that are requested or running.
 */
#include "collect/scan_requests.h"
#include "collect/memory.h"
#include "collect/server.h"
#include "collect/viewer.h"

void scan_forget_request(struct scan_request *r)
{
	memory_unmap(r->slots, MTW_SLOTS_MAX / 8);
	*r = (struct scan_request){ 0 };
}

void scan_end(struct scan *scan)
{
	memory_unmap(scan->reply, SCRATCH_BYTES);
	cohorts_free(scan->cohorts);
	*scan = (struct scan){ .viewer = -1 };
}

void scan_drop(struct scans *scans, struct viewer *v)
{
	for (int k = 0; k < MTW_KIND_COUNT; k++)
		scan_forget_request(&v->scan[k]);
	if (scans->now.viewer == v->index)
		scan_end(&scans->now);
}
