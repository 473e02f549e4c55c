/* SPDX-License-Identifier: MIT
 *
 * stacks_fast.h - the part of unwind/stacks.c that each step of a new stack runs: a node by number,
 * and its listed children. unwind/stacks.c has the design.
 */
#ifndef MT_UNWIND_STACKS_FAST_H
#define MT_UNWIND_STACKS_FAST_H

#include "base/compiler.h"
#include "base/node.h"
#include "base/types.h"

#define NODE_SHIFT 10u
#define LISTED 8u /* children in a node's list; further ones are found by hash */

#pragma GCC visibility push(hidden)

extern void *_Atomic mt_stacks_chunks[]; /* of 2^NODE_SHIFT nodes */

MT_INLINE struct node *stacks_node(node_id id)
{
	struct node *chunk =
		atomic_load_explicit(&mt_stacks_chunks[id >> NODE_SHIFT], memory_order_acquire);

	return &chunk[id & ((1u << NODE_SHIFT) - 1)];
}

/* Fills a node that nobody can see yet. */
MT_INLINE void stacks_fill(node_id id, node_id parent, code_id code, node_id child)
{
	node_fill(stacks_node(id), parent, code, child);
}

/* Looks among the children from `id`, the newest, to the oldest. Returns the one of this step, and
 * *child is it; or 0, and *count is their number. */
MT_INLINE node_id stacks_among(node_id id, uint32_t step, struct node **child, uint32_t *count)
{
	for (*count = 0; id; ++*count) {
		struct node *n = stacks_node(id);
		if (node_is(n, step)) {
			*child = n;
			return id;
		}
		id = atomic_load_explicit(&n->xnext, memory_order_relaxed);
	}
	return 0;
}

/* A child in the node's list; `step`: node_step() of its number and the code. */
MT_INLINE node_id stacks_listed(const struct node *parent, uint32_t step, struct node **child,
				uint32_t *count)
{
	return stacks_among(node_first(parent), step, child, count);
}

#pragma GCC visibility pop

#endif
