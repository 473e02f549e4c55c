/* SPDX-License-Identifier: MIT
 *
 * node.h - a node of the trie of stacks, in 16 bytes.
 *
 * A compiler makes a million nodes, and five of them for each stack: they are the largest part of
 * the agent's memory there. So a node's four words have no bit to spare, and four nodes fill a
 * cache line:
 *
 *   xnext   32: the next older of its parent's listed children, or the next in hash order
 *   xfirst  25: the newest of its listed children; 7: the upper bits of its parent
 *   xslot   23: its newest slot; 9: the middle bits of its parent
 *   xcode   23: its code; 9: the lower bits of its parent
 *
 * Parent and code are immutable once the node is published (unwind/stacks.c). The two words that
 * change later change by compare-and-swap alone, which keeps the parent's bits. So who may read the
 * node at all reads the same parent in them at any time.
 *
 * The slot's epoch is the slot's own (struct slot).
 */
#ifndef MT_BASE_NODE_H
#define MT_BASE_NODE_H

#include "base/compiler.h"
#include "base/types.h"

#define NODE_BITS 25
#define SLOT_BITS 23
#define CODE_BITS 23

_Static_assert(NODES_END == 1u << NODE_BITS && SLOTS_END == 1u << SLOT_BITS &&
		       CODES_END == 1u << CODE_BITS,
	       "each number has its bits");
_Static_assert(3 * 32 - NODE_BITS - SLOT_BITS - CODE_BITS == NODE_BITS, "the rest is the parent's");

struct node {
	_Atomic uint32_t xnext;
	_Atomic uint32_t xfirst;
	_Atomic uint32_t xslot;
	_Atomic uint32_t xcode;
};
_Static_assert(sizeof(struct node) == 16, "a program can have a million and more");

#define LOWER_BITS (32 - CODE_BITS)
#define MIDDLE_BITS (32 - SLOT_BITS)

/* A node's xcode. A parent's children differ in it just as they do in the code. */
MT_INLINE uint32_t node_step(node_id parent, code_id code)
{
	return parent << CODE_BITS | code;
}

/* Nobody else sees the node yet. The code comes last: a node with a code is whole. */
MT_INLINE void node_fill(struct node *n, node_id parent, code_id code, node_id first)
{
	uint32_t middle = parent >> LOWER_BITS, upper = middle >> MIDDLE_BITS;

	atomic_store_explicit(&n->xfirst, upper << NODE_BITS | first, memory_order_relaxed);
	atomic_store_explicit(&n->xslot, middle << SLOT_BITS, memory_order_relaxed);
	atomic_store_explicit(&n->xcode, node_step(parent, code), memory_order_release);
}

/* Does it lead from its parent by this step? */
MT_INLINE bool node_is(const struct node *n, uint32_t step)
{
	return atomic_load_explicit(&n->xcode, memory_order_relaxed) == step;
}

MT_INLINE code_id node_code(const struct node *n)
{
	return atomic_load_explicit(&n->xcode, memory_order_relaxed) & (CODES_END - 1);
}

MT_INLINE node_id node_parent(const struct node *n)
{
	uint32_t upper = atomic_load_explicit(&n->xfirst, memory_order_relaxed) >> NODE_BITS,
		 middle = atomic_load_explicit(&n->xslot, memory_order_relaxed) >> SLOT_BITS,
		 lower = atomic_load_explicit(&n->xcode, memory_order_relaxed) >> CODE_BITS;

	return (upper << MIDDLE_BITS | middle) << LOWER_BITS | lower;
}

/* The newest of its listed children, which is whole then; 0 = none. */
MT_INLINE node_id node_first(const struct node *n)
{
	return atomic_load_explicit(&n->xfirst, memory_order_acquire) & (NODES_END - 1);
}

/* Its newest slot, which is whole then; 0 = none. */
MT_INLINE slot_id node_slot(const struct node *n)
{
	return atomic_load_explicit(&n->xslot, memory_order_acquire) & (SLOTS_END - 1);
}

MT_INLINE bool node_swap(_Atomic uint32_t *word, uint32_t mask, uint32_t *is, uint32_t to)
{
	uint32_t others = atomic_load_explicit(word, memory_order_relaxed) & ~mask,
		 seen = others | *is;
	bool done = atomic_compare_exchange_strong_explicit(
		word, &seen, others | to, memory_order_acq_rel, memory_order_acquire);

	*is = seen & mask;
	return done;
}

/* Publishes `to` in the place of *is. False: another one is there, and *is it. */
MT_INLINE bool node_swap_first(struct node *n, node_id *is, node_id to)
{
	return node_swap(&n->xfirst, NODES_END - 1, is, to);
}

MT_INLINE bool node_swap_slot(struct node *n, slot_id *is, slot_id to)
{
	return node_swap(&n->xslot, SLOTS_END - 1, is, to);
}

#undef LOWER_BITS
#undef MIDDLE_BITS

#endif
