/* SPDX-License-Identifier: MIT
 *
 * union.h - the call trees of several heaps as one: sessions that are compared, the processes of a
 * tree. One thread owns a union; the skeletons and snapshots that it makes are immutable.
 *
 * Each location of a member has keys: numbers, equal for code that counts as the same. One key, or
 * one for each inlined function, outermost first. Nodes with equal keys all the way from the root
 * are one node of the union. So a member has two maps, and one pass over its stacks adds its
 * amounts to the union's:
 *
 *     a member's node -> the union's (union_enter)    its stack -> the union's (union_stack)
 *
 * The union's nodes are numbered in the order of their arrival, and keep their numbers when more
 * come: members may come, go (nobody passes their heap to union_heap() again), and grow.
 */
#ifndef HEAP_UNION_H
#define HEAP_UNION_H

#include "heap/heap.h"

struct heap_union {
	uint32_t nodes;
	/* by order of arrival; 0 is the root. location: the key; id: the number itself */
	struct arrival *node;
	uint64_t *stack_bits;      /* likewise: a member's stack ends here */
	struct skeleton *skeleton; /* held; as of the last union_settle() */
	size_t node_room, bits_room;
	uint32_t *of_edge; /* hash of (parent, key): the child; 0 = free */
	size_t edge_room;  /* a power of two, or 0 */
	uint32_t last;     /* where union_child() led last */
};

void union_init(struct heap_union *u);
void union_release(struct heap_union *u);

/* The keys of a tree's locations. Any numbers but NO_ID. */
struct union_keys {
	const uint32_t *keys;
	/* by location, and one more: where its keys are; it may have none. NULL: key i is location
	 * i's */
	const uint32_t *first;
	bool folds; /* a key equal to that of the node itself leads to no child: a function that
		     * calls itself */
};

/* The child of a node with this key, entered when there is none. */
uint32_t union_child(struct heap_union *u, uint32_t parent, uint32_t key);
/*
 * Enters a tree. at: by s's node, the union's. wanted: bits of the nodes to enter (NULL: all);
 * others keep what `at` says, which the caller knows for the parents of wanted ones: nodes that a
 * member's new skeleton has beyond its old one, or the paths of some stacks only.
 */
void union_enter(struct heap_union *u, const struct skeleton *s, const struct union_keys *keys,
		 const uint64_t *wanted, uint32_t *at);
/* A member's stack ends at this node. */
static inline void union_end(struct heap_union *u, uint32_t node)
{
	u->stack_bits[node / 64] |= 1ull << node % 64;
}

/* Makes the skeleton again, if nodes or stacks came since; numbers of stacks move then. A node's
 * location there is its key. */
void union_settle(struct heap_union *u);
/* The stack at a node where union_end() was called, after union_settle(). */
static inline uint32_t union_stack(const struct heap_union *u, uint32_t node)
{
	return skeleton_first(u->skeleton, u->skeleton->node_of[node]);
}

struct union_part {
	const struct heap *heap;
	const uint32_t *to; /* by its stack: the union's; NO_ID = left out */
};
/* What these members hold together, on the union's skeleton. The caller holds it. */
struct heap *union_heap(const struct heap_union *u, const struct union_part *parts, size_t count);

#endif
