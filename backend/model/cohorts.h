/* SPDX-License-Identifier: MIT
 *
 * cohorts.h - live blocks by slot, thread and age, as of the last complete scan. Main thread only.
 */
#ifndef MODEL_COHORTS_H
#define MODEL_COHORTS_H

#include "model/event.h"

struct cohort_scans {
	struct cohorts now, coming; /* coming: its last part has not arrived */
	size_t room;                /* of the one that is coming */
	bool whole, begun;
	uint64_t request; /* of the one that is coming */
	uint64_t scans;
};

/* 1: this part completes a scan; 0; -1 and *err */
int cohorts_apply(struct cohort_scans *x, const struct event *e, struct err *err);
void cohorts_clear(struct cohort_scans *x);

#endif
