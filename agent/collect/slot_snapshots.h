/* SPDX-License-Identifier: MIT
 *
 * slot_snapshots.h - live by slot at marks and samples. Server thread.
 *
 * `total` counts the bytes of the chain.
 */
#ifndef MT_COLLECT_SLOT_SNAPSHOTS_H
#define MT_COLLECT_SLOT_SNAPSHOTS_H

#include "base/types.h"
#include "collect/sums.h"

#pragma GCC visibility push(hidden)

struct server;
struct viewer;
struct sum;

/* Live by slot at an instant, where it differs from the instant before: collect/slot_snapshots.c.
 */
struct snapshot {
	uint8_t *live; /* varints: +slot, blocks, bytes; NULL = none */
	size_t bytes, mapped;
	uint32_t pass;    /* sums of this pass were kept */
	uint32_t version; /* changes on a merge: a viewer that is receiving it starts again */
};

/* How far one is sent. */
struct snapshot_at {
	uint32_t id, version, slot;
	size_t offset;
	bool whole;
};

typedef void (*kept_later)(struct sums *sums, void *arg, slot_id id, const struct sum *sum);
/* The changes since the pass `since`. `later` gets the slots of epochs after `epoch`, which have no
 * entry. False: no memory. */
bool snapshot_take(struct sums *sums, struct snapshot *k, uint32_t since, uint64_t epoch,
		   kept_later later, void *arg, size_t *total);
/* `older` stays unchanged; first: none is kept before it. False: no memory, and `to` is invalid */
bool snapshot_merge(struct snapshot *older, struct snapshot *to, bool first, size_t *total);
void snapshot_forget(struct snapshot *k, size_t *total);
/* false: no room yet */
bool snapshot_send(struct server *s, struct viewer *v, unsigned type, uint32_t id,
		   const struct snapshot *k, struct snapshot_at *at);

#pragma GCC visibility pop

#endif
