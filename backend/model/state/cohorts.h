/* SPDX-License-Identifier: MIT
 *
 * cohorts.h - live blocks by slot, thread and age, as of the last complete scan. Main thread only.
 */
#ifndef MODEL_STATE_COHORTS_H
#define MODEL_STATE_COHORTS_H

#include "model/paths/event.h"

struct cohort_scans {
	struct cohorts now, coming; /* coming: its last part has not arrived */
	size_t room, place_room;    /* of the one that is coming; */
	uint32_t last;              /* ... its last slot */
	bool mixed;                 /* ... its slots are not in order */
	bool whole, begun;
	uint64_t request; /* of the one that is coming */
	uint64_t scans;
};

/* 1: this part completes a scan; 0; -1 and *err */
int cohorts_apply(struct cohort_scans *x, const struct event *e, struct err *err);
void cohorts_clear(struct cohort_scans *x);

/* From { 0 } on. False: that was all. */
bool cohorts_next(const struct cohorts *c, struct cohort_at *at, struct cohort *x);
/* Before the first one of a slot, if it has any, or of a later one. */
struct cohort_at cohorts_of_slot(const struct cohorts *c, uint32_t slot);
/* Sums by age alone, youngest first; the caller frees the *count entries. Their slot and thread
 * mean nothing. */
struct cohort *cohorts_by_age(const struct cohorts *c, size_t *count);

#endif
