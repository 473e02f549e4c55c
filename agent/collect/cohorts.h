/* SPDX-License-Identifier: MIT
 *
 * cohorts.h - live blocks by slot, thread and age.
 *
 * A scan of the live map fills the table. The server then sends it in parts (MTW_SCAN_COHORTS): to
 * one viewer as its link takes them, or to all in the final state. Memory is bounded: cohorts past
 * the bound are only summed up, and the viewer is told. Server thread.
 */
#ifndef MT_COLLECT_COHORTS_H
#define MT_COLLECT_COHORTS_H

#include "base/types.h"
#include <memtop/wire.h>

struct cohorts;

/* How far they were sent. All 0 at the begin. */
struct cohorts_at {
	slot_id slot;
	uint32_t next; /* 1 + the cohort of it that comes next; 0 = its newest */
	uint32_t sent;
	bool whole;
};

struct cohorts *cohorts_new(void);    /* as of now; NULL: no memory */
void cohorts_free(struct cohorts *c); /* NULL is fine */
void cohorts_add(struct cohorts *c, slot_id slot, const struct block *b, uint64_t weight);
/* The next part into `size` bytes, which are COHORTS_PART_LEAST at least. Its length. */
size_t cohorts_encode(const struct cohorts *c, struct cohorts_at *at, uint64_t request,
		      uint8_t *buf, size_t size);

#define COHORTS_PART_LEAST 1024u

#endif
