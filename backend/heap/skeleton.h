/* SPDX-License-Identifier: MIT
 *
 * skeleton.h - the call tree of a session, in depth-first order. Immutable once made; any thread.
 *
 * Node 0 is the root. The descendants of node n are n + 1 .. end[n] - 1, so each subtree is a
 * range, and so are the stacks in it (a stack: a node with slots, where blocks were allocated).
 * Whatever is kept by stack has its sum over a subtree as the difference of two running sums.
 *
 * When nodes come, a new skeleton takes the place of the old one and all numbers move: nobody keeps
 * a number beyond its skeleton. What stays is the order of arrival, and the wire's id.
 */
#ifndef HEAP_SKELETON_H
#define HEAP_SKELETON_H

#include "base/idmap.h"
#include "heap/users.h"
#include "model/paths/types.h"

struct skeleton {
	atomic_uint users; /* skeleton_hold() */
	uint32_t nodes, stacks;
	/* by node; parent of the root: NO_ID; end: the node behind the last descendant */
	uint32_t *parent, *end, *location, *id;
	/* by node; by_pointer: a frame pointer found its parent: no unwind table covers its code */
	uint64_t *stack_bits, *by_pointer_bits;
	uint32_t *stacks_before; /* node 64 * i: stacks among the nodes before it */
	uint32_t *node_of_stack;
	uint32_t *node_of; /* by order of arrival */
	struct idmap ids;  /* order of arrival by the wire's id; empty in a union (heap/union.h) */
};

/* A node that came: its parent's place in the order of arrival, which is lower than its own. */
struct arrival {
	uint32_t parent, location, id;
	bool by_pointer;
};

/*
 * `old` (NULL: only a root) with `count` more nodes. Siblings stay in the order in which they came.
 * stacks: by order of arrival, which nodes are stacks, also among the old ones. *moved (NULL: not
 * wanted): where each old node is now, for the caller to free. The caller holds it.
 */
struct skeleton *skeleton_new(const struct skeleton *old, const struct arrival *list,
			      uint32_t count, const uint64_t *stacks, uint32_t **moved);
/* The same nodes, siblings by the rank of their location (rank[location]), equal ones as they are;
 * its ids are empty. */
struct skeleton *skeleton_ranked(const struct skeleton *s, const uint32_t *rank, uint32_t ranks,
				 uint32_t **moved);
/* By stack of s: its number in `in`, NO_ID = it is none there. Both are of one program; one of them
 * may be older. free() it. */
uint32_t *skeleton_stacks_in(const struct skeleton *s, const struct skeleton *in);
struct skeleton *skeleton_hold(struct skeleton *s);
void skeleton_drop(struct skeleton *s); /* frees it after the last one; NULL: nothing */

static inline bool bit_of(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}
/* Number of the first stack at node n or behind it. n may be `nodes`: all stacks. */
static inline uint32_t skeleton_first(const struct skeleton *s, uint32_t n)
{
	uint64_t below = s->stack_bits[n / 64] & ((1ull << n % 64) - 1);

	return s->stacks_before[n / 64] + (uint32_t)__builtin_popcountll(below);
}
/* The node of a wire's id; NO_ID: none, or it came since. */
static inline uint32_t skeleton_find(const struct skeleton *s, uint32_t id)
{
	uint32_t arrival = idmap_get(&s->ids, id);

	return arrival < s->nodes ? s->node_of[arrival] : NO_ID;
}
/* The other way round of node_of. */
static inline uint32_t skeleton_arrival(const struct skeleton *s, uint32_t n)
{
	return idmap_get(&s->ids, s->id[n]);
}
/* Behind the last stack at n or below it. */
static inline uint32_t skeleton_last(const struct skeleton *s, uint32_t n)
{
	return skeleton_first(s, s->end[n]);
}

#endif
