/* SPDX-License-Identifier: MIT
 *
 * slots_fast.h - the part of record/slots.c that every event runs: counters of a slot that the
 * thread has met, in a set that it alone writes. record/slots.c has the design and the slow twins.
 */
#ifndef MT_RECORD_SLOTS_FAST_H
#define MT_RECORD_SLOTS_FAST_H

#include "base/compiler.h"
#include "base/state.h"
#include "base/types.h"
#include "record/slots.h"

#define MID_SLOTS (PAGE_SLOTS * MID_PAGES)

extern struct counter_page mt_slots_no_page __attribute__((visibility("hidden")));
void mt_slots_stamp(struct thread *t, slot_id s, struct counter_page *page);
void mt_slots_after_slow(struct thread *t); /* updates the global balance when due */
slot_id mt_slots_of_slow(node_id node, struct node *n, slot_id seen, uint64_t epoch);

/* Is slot `s`, of some node, that of the epoch, or of one that has begun meanwhile? While nobody
 * has set a mark there is but one, and no need to look at the slot. */
MT_INLINE bool slots_is_of(slot_id s, uint64_t epoch)
{
	return likely(!epoch) || mt_slots_at(s)->epoch >= epoch;
}

/* mt_slots_no_page where the thread has never been, and for slot 0. It is never stamped. */
MT_INLINE struct counter_page *slots_page(const struct thread *t, slot_id s)
{
	const struct mid *mid = atomic_load_explicit(&t->root[s / MID_SLOTS], memory_order_acquire);

	return atomic_load_explicit(&mid->xpage[s / PAGE_SLOTS % MID_PAGES], memory_order_acquire);
}

MT_INLINE struct counts *slots_counts(struct counter_page *page, slot_id s)
{
	return &page->slot[s % PAGE_SLOTS];
}

/* The owner alone writes. Compilers make three instructions of an atomic load and store, and one of
 * an addition. On x86-64 that does as well: a word is written whole, and stores are seen in order.
 */
MT_INLINE void slots_add(_Atomic uint64_t *x, uint64_t n, memory_order order)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	atomic_signal_fence(order);
	*(uint64_t *)x += n;
#else
	atomic_store_explicit(x, atomic_load_explicit(x, memory_order_relaxed) + n, order);
#endif
}

/* 0: the page is stamped with this pass. */
MT_INLINE uintptr_t slots_unstamped(const struct counter_page *page)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	uint32_t pass = *(const uint32_t *)&mt_pass; /* likewise: one instruction with the next */
#else
	uint32_t pass = atomic_load_explicit(&mt_pass, memory_order_relaxed);
#endif
	return atomic_load_explicit(&page->xstamp, memory_order_relaxed) ^ pass;
}

MT_INLINE bool slots_stamped(const struct counter_page *page)
{
	return likely(!slots_unstamped(page));
}

/* The thread's totals, which it reports to the global balance in steps. */
MT_INLINE int64_t slots_live(const struct thread *t)
{
	return (int64_t)(atomic_load_explicit(&t->total.xalloc_bytes, memory_order_relaxed) -
			 atomic_load_explicit(&t->total.xfree_bytes, memory_order_relaxed));
}

MT_INLINE uint64_t slots_events(const struct thread *t)
{
	return atomic_load_explicit(&t->total.xalloc_blocks, memory_order_relaxed) +
	       atomic_load_explicit(&t->total.xfree_blocks, memory_order_relaxed);
}

/* False: used up. */
MT_INLINE bool slots_room(int64_t *room, size_t bytes)
{
	return likely((*room -= (int64_t)bytes) >= 0);
}

/* By the state's owner, in a stamped page. False: call mt_slots_after_slow() next. The blocks come
 * last, with release. mt_slots_sum() acquires them, so a reader that sees one also sees the slot's
 * stack and epoch (mt_slots_new()). */
MT_INLINE bool slots_count_alloc(struct thread *t, struct counts *c, size_t bytes)
{
	slots_add(&c->xalloc_bytes, bytes, memory_order_relaxed);
	slots_add(&c->xalloc_blocks, 1, memory_order_release);
	slots_add(&t->total.xalloc_bytes, bytes, memory_order_relaxed);
	slots_add(&t->total.xalloc_blocks, 1, memory_order_relaxed);
	return slots_room(&t->alloc_room, bytes);
}

MT_INLINE bool slots_count_free(struct thread *t, struct counts *c, size_t bytes)
{
	slots_add(&c->xfree_bytes, bytes, memory_order_release);
	slots_add(&c->xfree_blocks, 1, memory_order_release);
	slots_add(&t->total.xfree_bytes, bytes, memory_order_release);
	slots_add(&t->total.xfree_blocks, 1, memory_order_release);
	return slots_room(&t->free_room, bytes);
}

#endif
