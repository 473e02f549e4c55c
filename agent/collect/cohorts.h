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

/* The progress of sending. All 0 at first. */
struct cohorts_at {
	slot_id slot;
	uint32_t next; /* 1 + the slot's next cohort; 0 = its newest */
	uint32_t sent;
	bool whole;
};

struct cohorts *cohorts_new(void);    /* as of now; NULL: no memory */
void cohorts_free(struct cohorts *c); /* NULL is fine */
void cohorts_add(struct cohorts *c, slot_id slot, const struct block *b, uint64_t weight);
/* Writes the next part into `size` bytes, at least COHORTS_PART_LEAST, and returns its length. */
size_t cohorts_encode(const struct cohorts *c, struct cohorts_at *at, uint64_t request,
		      uint8_t *buf, size_t size);

#define COHORTS_PART_LEAST 1024u

#endif
