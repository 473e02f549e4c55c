/* SPDX-License-Identifier: MIT
 *
 * slots.h - (node, epoch) -> slot, per-thread counters, sums.
 */
#ifndef MT_RECORD_SLOTS_H
#define MT_RECORD_SLOTS_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

uint64_t mt_slots_next_epoch(void);          /* starts an epoch; returns the one that ends */
void mt_slots_thread_init(struct thread *t); /* no counters yet */
slot_id mt_slots_of(node_id node);           /* its slot in the current epoch; never 0 */
slot_id mt_slots_new(node_id node, uint64_t epoch, uint32_t rate); /* one of its own; 0 = no more */
const struct slot *mt_slots_at(slot_id id);
uint32_t mt_slots_count(void); /* ids 1..count-1 */
/* false: no memory for its counters */
bool mt_slots_alloc(struct thread *t, slot_id s, size_t bytes);
bool mt_slots_free(struct thread *t, slot_id s, size_t bytes);
bool mt_slots_weighed(struct thread *t, slot_id s, bool alloc, uint64_t blocks, uint64_t bytes);
void mt_slots_ended(struct thread *t); /* its owner is gone, and holds no bytes from the peak */
/* sums over all threads: freed first, then allocated */
void mt_slots_sum(slot_id s, struct tally *sum);
/* Calls changed(slot) for each slot stamped since the last call; all = every slot ever used. */
void mt_slots_collect(bool all, void (*changed)(void *arg, slot_id s), void *arg);
void mt_slots_peak(uint64_t *bytes, uint64_t *error, uint64_t *at_ns);
/* sum of all slots, from the threads' own counters; any thread */
void mt_slots_totals(struct tally *sum);
/* ... likewise at the peak of that number (record/peak.h), for the slots from page * PAGE_SLOTS on.
 * False: a newer peak has come, or some counters could not be kept. */
bool mt_slots_at_peak(uint32_t number, uint32_t page, struct tally sum[PAGE_SLOTS]);
/* In a child: its peak begins with the inherited memory, and an epoch for its own. */
void mt_slots_forked(void);
void mt_slots_restart(void); /* the next session's peak, while no thread counts */
/* ... and its counters, which are 0 then: by its owner, before it is one of the session's */
void mt_slots_thread_restart(struct thread *t);

#pragma GCC visibility pop

#endif
