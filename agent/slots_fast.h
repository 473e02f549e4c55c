/* SPDX-License-Identifier: MIT
 *
 * slots_fast.h - the part of slots.c that every event runs: counters of a slot that the thread has
 * met, in a set that it alone writes. slots.c has the design and the slow twins.
 */
#ifndef MT_SLOTS_FAST_H
#define MT_SLOTS_FAST_H

#include "agent.h"

#define MID_SLOTS (LEAF_SLOTS * MID_LEAVES)

/* Stamps the leaf of slot s, tells the balance. */
void mt_slots_after_slow(struct thread *t, slot_id s);
slot_id mt_slots_of_slow(node_id node, struct node *n, uint64_t seen, uint64_t epoch);

/* NULL where the thread has never been. */
MT_INLINE struct leaf *slots_leaf(const struct thread *t, slot_id s)
{
	const struct mid *mid = atomic_load_explicit(&t->root[s / MID_SLOTS], memory_order_acquire);

	return likely(mid) ? atomic_load_explicit(&mid->xleaf[s / LEAF_SLOTS % MID_LEAVES],
						  memory_order_acquire) : NULL;
}

MT_INLINE struct counts *slots_counts(struct leaf *leaf, slot_id s)
{
	return &leaf->slot[s % LEAF_SLOTS];
}

/* Nobody else writes. Returns the sum. */
MT_INLINE uint64_t slots_add(_Atomic uint64_t *x, uint64_t n, memory_order order)
{
	uint64_t sum = atomic_load_explicit(x, memory_order_relaxed) + n;

	atomic_store_explicit(x, sum, order);
	return sum;
}

/* Does the leaf's mark say that it changed in this pass? */
MT_INLINE bool slots_stamped(const struct leaf *leaf)
{
	return likely(atomic_load_explicit(&leaf->xstamp, memory_order_relaxed) ==
		      atomic_load_explicit(&mt_pass, memory_order_relaxed));
}

/* Of all that the thread did; what the global balance is told in steps. */
MT_INLINE int64_t slots_live(const struct thread *t)
{
	return (int64_t)(atomic_load_explicit(&t->total.xalloc_bytes, memory_order_relaxed) -
			 atomic_load_explicit(&t->total.xfree_bytes, memory_order_relaxed));
}

/*
 * By the state's owner. True: the usual; false: mt_slots_after_slow() is to follow. *blocks = how
 * many the thread has allocated.
 */
MT_INLINE bool slots_count_alloc(struct thread *t, struct leaf *leaf, struct counts *c,
				 size_t bytes, uint64_t *blocks)
{
	slots_add(&c->xalloc_bytes, bytes, memory_order_relaxed);
	slots_add(&c->xalloc_blocks, 1, memory_order_relaxed);
	slots_add(&t->total.xalloc_bytes, bytes, memory_order_relaxed);
	*blocks = slots_add(&t->total.xalloc_blocks, 1, memory_order_relaxed);
	return likely(slots_live(t) <= t->publish_above) && slots_stamped(leaf);
}

MT_INLINE bool slots_count_free(struct thread *t, struct leaf *leaf, struct counts *c, size_t bytes,
				uint64_t *blocks)
{
	slots_add(&c->xfree_bytes, bytes, memory_order_release);
	slots_add(&c->xfree_blocks, 1, memory_order_release);
	slots_add(&t->total.xfree_bytes, bytes, memory_order_release);
	*blocks = slots_add(&t->total.xfree_blocks, 1, memory_order_release);
	return likely(slots_live(t) >= t->publish_below) && slots_stamped(leaf);
}

#endif
