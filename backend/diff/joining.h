/* SPDX-License-Identifier: MIT
 *
 * joining.h - shared by join.c, which joins equal paths, and remains.c, which compares once more
 * what then remains in A alone or in B alone.
 */
#ifndef DIFF_JOINING_H
#define DIFF_JOINING_H

#include "diff/join.h"
#include "diff/stack_keys.h"

enum { IN_A = 1, IN_B = 2 };

struct joining {
	struct join *j;
	struct heap_union trees;
	uint32_t **at;      /* by side and node: the union's node */
	uint32_t **named;   /* by side and stack: names on the way */
	bool **with_names;  /* by side and stack: some key is not by offset */
	uint8_t *met;       /* by key: IN_A, IN_B */
	uint32_t *of_node;  /* by the union's node: number + 1 of what ends there */
	uint32_t *group_of; /* by joined stack, while what remains is joined: number + 1 */
	struct group *groups;
	size_t list_room, sums_room, node_room, group_count, group_room;
};

static inline const struct skeleton *tree_of(const struct joining *x, size_t side)
{
	return x->j->sides[side]->heap->skeleton;
}

/* What ends at a node of the union: number + 1, which the caller sets. */
static inline uint32_t *ending_at(struct joining *x, uint32_t node)
{
	GROW(x->of_node, x->node_room, x->trees.nodes);
	return &x->of_node[node];
}

static inline uint32_t names_of(const struct joining *x, const struct joined *e)
{
	return x->named[e->side][e->stack];
}

/* The later session describes the stack, unless it has fewer names. */
static inline void describe(const struct joining *x, struct joined *e, const struct joined *other)
{
	if (names_of(x, other) >= names_of(x, e)) {
		e->side = other->side;
		e->stack = other->stack;
	}
}

static inline uint64_t amounts_key(uint64_t blocks, uint64_t bytes)
{
	return hash_mix(hash_mix(blocks) + bytes);
}

/* Did one of A's sessions, or B's, allocate there? */
static inline bool is_on_side(const struct join *j, size_t joined, bool b)
{
	const struct tally *sums = join_sums(j, joined);

	for (size_t i = b ? j->sides_a : 0; i < (b ? j->count : j->sides_a); i++)
		if (sums[i].alloc_blocks || sums[i].alloc_bytes)
			return true;
	return false;
}

/* remains.c: by outline, or by common functions; nothing where no side has stacks alone. */
void joining_rest(struct joining *x, enum join_by by);

#endif
