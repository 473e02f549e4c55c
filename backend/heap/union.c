/* SPDX-License-Identifier: MIT
 *
 * union.c - joins call trees by a hash of (parent, key). Members are mostly alike, and their nodes
 * come in depth-first order: the child that follows the last one is tried first, so that a member
 * which is like another one reads the union's nodes one after the other.
 */
#include "heap/union.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

void union_init(struct heap_union *u)
{
	*u = (struct heap_union){ .nodes = 1 };
	GROW(u->node, u->node_room, 1);
	GROW(u->stack_bits, u->bits_room, 1);
	u->node[0] = (struct arrival){ .parent = NO_ID, .location = NO_ID };
}

void union_release(struct heap_union *u)
{
	skeleton_drop(u->skeleton);
	free(u->node);
	free(u->stack_bits);
	free(u->of_edge);
}

static bool is_child(const struct heap_union *u, uint32_t node, uint32_t parent, uint32_t key)
{
	return u->node[node].parent == parent && u->node[node].location == key;
}

static size_t edge_of(const struct heap_union *u, uint32_t parent, uint32_t key)
{
	return hash_mix((uint64_t)parent << 32 | key) & (u->edge_room - 1);
}

static void make_room(struct heap_union *u)
{
	u->edge_room = u->edge_room ? u->edge_room * 2 : 256;
	free(u->of_edge);
	u->of_edge = xcalloc(u->edge_room, sizeof *u->of_edge);
	for (uint32_t n = 1; n < u->nodes; n++) {
		size_t i = edge_of(u, u->node[n].parent, u->node[n].location);

		while (u->of_edge[i])
			i = (i + 1) & (u->edge_room - 1);
		u->of_edge[i] = n;
	}
}

static uint32_t add(struct heap_union *u, uint32_t parent, uint32_t key)
{
	GROW(u->node, u->node_room, u->nodes + 1ul);
	GROW(u->stack_bits, u->bits_room, u->nodes / 64 + 1ul);
	u->node[u->nodes] = (struct arrival){ .parent = parent, .location = key, .id = u->nodes };
	return u->nodes++;
}

uint32_t union_child(struct heap_union *u, uint32_t parent, uint32_t key)
{
	if (u->last + 1 < u->nodes && is_child(u, u->last + 1, parent, key))
		return ++u->last;
	if (u->nodes * 2ul >= u->edge_room)
		make_room(u);
	size_t i = edge_of(u, parent, key);

	while (u->of_edge[i] && !is_child(u, u->of_edge[i], parent, key))
		i = (i + 1) & (u->edge_room - 1);
	if (!u->of_edge[i])
		u->of_edge[i] = add(u, parent, key);
	return u->last = u->of_edge[i];
}

void union_enter(struct heap_union *u, const struct skeleton *s, const struct union_keys *keys,
		 const uint64_t *wanted, uint32_t *at)
{
	at[0] = 0;
	for (uint32_t n = 1; n < s->nodes; n++) {
		if (wanted && !bit_of(wanted, n))
			continue;
		uint32_t to = at[s->parent[n]], location = s->location[n];
		uint32_t from = keys->first ? keys->first[location] : location;
		uint32_t end = keys->first ? keys->first[location + 1] : location + 1;

		for (uint32_t i = from; i < end; i++)
			if (!keys->folds || u->node[to].location != keys->keys[i])
				to = union_child(u, to, keys->keys[i]);
		at[n] = to;
	}
}

static bool is_settled(const struct heap_union *u)
{
	const struct skeleton *s = u->skeleton;
	uint32_t stacks = 0;

	for (uint32_t i = 0; i <= u->nodes / 64 && i < u->bits_room; i++)
		stacks += (uint32_t)__builtin_popcountll(u->stack_bits[i]);
	return s && s->nodes == u->nodes && s->stacks == stacks;
}

void union_settle(struct heap_union *u)
{
	struct skeleton *was = u->skeleton;
	uint32_t before = was ? was->nodes : 1;

	if (is_settled(u))
		return;
	u->skeleton = skeleton_new(was, u->node + before, u->nodes - before, u->stack_bits, NULL);
	skeleton_drop(was);
}

struct heap *union_heap(const struct heap_union *u, const struct union_part *parts, size_t count)
{
	uint32_t stacks = u->skeleton->stacks;
	struct tally *own = xcalloc(stacks + 1ul, sizeof *own);
	uint64_t *estimates = xcalloc(stacks / 64 + 1ul, sizeof *estimates);

	for (size_t i = 0; i < count; i++) {
		struct running_reader all = { .of = &parts[i].heap->sums->sum };

		for (uint32_t k = 0; k < parts[i].heap->sums->stacks; k++) {
			uint32_t to = parts[i].to[k];
			struct tally t = tally_of_quad(running_next(&all));

			if (to == NO_ID)
				continue;
			tally_add(&own[to], &t);
			if (bit_of(parts[i].heap->sums->estimate_bits, k))
				estimates[to / 64] |= 1ull << to % 64;
		}
	}
	struct heap *h = heap_of(u->skeleton, own, estimates);
	free(own);
	return h;
}
