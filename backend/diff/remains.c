/* SPDX-License-Identifier: MIT
 *
 * remains.c - joins the stacks that remain in A alone or in B alone, by a part of their frames:
 * those that end at one node of a union of outlines, or of common functions, are a group.
 */
#include "diff/joining.h"

#include <stdlib.h>
#include <string.h>

static void begin_union(struct joining *x)
{
	union_release(&x->trees);
	union_init(&x->trees);
	memset(x->of_node, 0, x->node_room * sizeof *x->of_node);
}

/* A function without what is inlined into it; one that calls itself counts once. */
static void enter_outlines(struct joining *x, size_t side, const uint64_t *wanted)
{
	union_enter(&x->trees, tree_of(x, side),
		    &(struct union_keys){ x->j->keys->sides_keys[side].outline, NULL, true },
		    wanted, x->at[side]);
}

/* Only the functions that A and B both have. */
static void enter_common(struct joining *x, size_t side, const uint64_t *wanted)
{
	const struct join_keys *k = x->j->keys;
	const uint32_t *all = k->sides_keys[side].first;
	uint32_t locations = x->j->sides[side]->names->locations, count = 0;
	uint32_t *first = xmalloc((locations + 1ul) * sizeof *first);
	uint32_t *keys = xmalloc((all[locations] - all[0] + 1ul) * sizeof *keys);

	for (uint32_t l = 0; l < locations; l++) {
		first[l] = count;
		for (uint32_t i = all[l]; i < all[l + 1]; i++)
			if (x->met[k->numbers[i]] == (IN_A | IN_B))
				keys[count++] = k->numbers[i];
	}
	first[locations] = count;
	union_enter(&x->trees, tree_of(x, side), &(struct union_keys){ keys, first, true }, wanted,
		    x->at[side]);
	free(first);
	free(keys);
}

struct group { /* the remaining stacks at one node of the union */
	uint32_t node;
	uint32_t first; /* joined */
	uint32_t in;    /* IN_A, IN_B */
	/* allocated, of A times B's sessions less of B times A's */
	uint64_t more_blocks, more_bytes;
	uint32_t same_as; /* number + 1 of the group that this one belongs to; 0 = none */
	uint32_t next;    /* number + 1 of the next one with these amounts */
};

/* The function that allocates, as the keys number it. */
static uint32_t site_key(const struct joining *x, const struct joined *e)
{
	const struct side *s = x->j->sides[e->side];
	const struct side_stack *k = &s->stacks[e->stack];
	const struct side_keys *keys = &x->j->keys->sides_keys[e->side];

	if (!k->site)
		return 0;
	uint32_t location = side_location(s, k->site);
	uint32_t first = keys->first[location], count = keys->first[location + 1] - first;
	if (keys->by_offset[location] || count != side_frames(s, location) ||
	    k->site_frame >= count)
		return keys->outline[location];
	return x->j->keys->numbers[first + count - 1 - k->site_frame];
}

static void add_to_group(const struct join *j, size_t joined, struct group *g)
{
	const struct tally *sums = join_sums(j, joined);

	for (size_t i = 0; i < j->count; i++) {
		bool b = i >= j->sides_a;
		uint64_t times = b ? -(uint64_t)j->sides_a : j->count - j->sides_a;
		g->more_blocks += sums[i].alloc_blocks * times;
		g->more_bytes += sums[i].alloc_bytes * times;
		if (sums[i].alloc_blocks || sums[i].alloc_bytes)
			g->in |= b ? IN_B : IN_A;
	}
}

static void find_groups(struct joining *x, bool by_site)
{
	x->group_count = 0;
	for (size_t i = 0; i < x->j->list_count; i++) {
		const struct joined *e = &x->j->list[i];
		uint32_t node = x->at[e->side][side_node(x->j->sides[e->side], e->stack)];

		x->group_of[i] = 0;
		if (e->by != JOIN_NOT)
			continue;
		if (by_site)
			node = union_child(&x->trees, node, site_key(x, e));
		uint32_t *number = ending_at(x, node);
		if (!*number) {
			GROW(x->groups, x->group_room, x->group_count + 1);
			x->groups[x->group_count++] =
				(struct group){ .node = node, .first = (uint32_t)i };
			*number = (uint32_t)x->group_count;
		}
		x->group_of[i] = *number;
		add_to_group(x->j, i, &x->groups[*number - 1]);
	}
}

/* NULL: it is joined already. */
static const struct group *group_of(const struct joining *x, size_t joined)
{
	const struct group *g = x->group_of[joined] ? &x->groups[x->group_of[joined] - 1] : NULL;

	return g && g->same_as ? &x->groups[g->same_as - 1] : g;
}

static bool is_one(const struct group *g, enum join_by by)
{
	return g->in == (IN_A | IN_B) && (by != JOIN_COMMON || (!g->more_blocks && !g->more_bytes));
}

static void move_sums(struct join *j, size_t to, size_t from, bool add)
{
	for (size_t i = 0; i < j->count; i++) {
		if (add)
			tally_add(&join_sums(j, to)[i], &join_sums(j, from)[i]);
		else
			join_sums(j, to)[i] = join_sums(j, from)[i];
	}
}

static void renumber(struct join *j, const uint32_t *moved_to)
{
	for (size_t side = 0; side < j->count; side++)
		for (size_t i = 0; i < j->sides[side]->stack_count; i++)
			j->of_stack[side][i] = moved_to[j->of_stack[side][i]];
}

/* Joins each group into its first stack, and closes the gaps. */
static void join_groups(struct joining *x, enum join_by by)
{
	struct join *j = x->j;
	uint32_t *moved_to = xcalloc(j->list_count + 1, sizeof *moved_to);
	size_t kept = 0;

	for (size_t i = 0; i < j->list_count; i++) {
		struct joined e = j->list[i];
		const struct group *g = group_of(x, i);
		bool joins = g && is_one(g, by);
		if (joins && g->first != i) {
			moved_to[i] = moved_to[g->first];
			describe(x, &j->list[moved_to[g->first]], &e);
			move_sums(j, moved_to[g->first], i, true);
			continue;
		}
		if (joins)
			e.by = by;
		move_sums(j, kept, i, false);
		j->list[kept] = e;
		moved_to[i] = (uint32_t)kept++;
	}
	j->list_count = kept;
	renumber(j, moved_to);
	free(moved_to);
}

/* Is the path to `part` the path to `whole` with some frames less? */
static bool is_part(const struct heap_union *u, uint32_t whole, uint32_t part)
{
	for (; part && whole; whole = u->node[whole].parent)
		if (u->node[whole].location == u->node[part].location)
			part = u->node[part].parent;
	return !part;
}

static const char *owner_of(const struct joining *x, const struct group *g)
{
	const struct joined *e = &x->j->list[g->first];

	return x->j->sides[e->side]->stacks[e->stack].owner_key;
}

/* By the union's node: a bit for each key on its path, of 64. A part has no bit that the whole
 * lacks. */
static uint64_t *find_signs(const struct heap_union *u)
{
	uint64_t *sign = xcalloc(u->nodes, sizeof *sign);

	for (uint32_t n = 1; n < u->nodes; n++)
		sign[n] = sign[u->node[n].parent] | 1ull << (hash_mix(u->node[n].location) & 63);
	return sign;
}

/* As many blocks and bytes in A's group as in B's? */
static bool are_one(const struct joining *x, const uint64_t *sign, const struct group *a,
		    const struct group *b)
{
	uint64_t of_a = sign[a->node], of_b = sign[b->node];

	return a->in == IN_A && a->more_blocks + b->more_blocks == 0 &&
	       a->more_bytes + b->more_bytes == 0 && owner_of(x, a) == owner_of(x, b) &&
	       ((!(of_b & ~of_a) && is_part(&x->trees, a->node, b->node)) ||
		(!(of_a & ~of_b) && is_part(&x->trees, b->node, a->node)));
}

static void become_one(struct joining *x, struct group *to, struct group *from)
{
	to->in |= from->in;
	to->first = from->first < to->first ? from->first : to->first;
	to->more_blocks = to->more_bytes = 0;
	from->same_as = (uint32_t)(to - x->groups) + 1;
}

/* In the order of the union's nodes: which of several with equal amounts are one depends on it. */
static void find_parts(struct joining *x)
{
	struct map with_amounts = { 0 }; /* -> number + 1 of A's last group */
	uint64_t *sign = find_signs(&x->trees);

	for (uint32_t n = 0; n < x->trees.nodes; n++) {
		uint32_t number = *ending_at(x, n);
		struct group *g = number ? &x->groups[number - 1] : NULL;
		if (!g || g->in != IN_A)
			continue;
		uint64_t key = amounts_key(g->more_blocks, g->more_bytes);
		g->next = map_get(&with_amounts, key, 0);
		map_set(&with_amounts, key, number);
	}
	for (uint32_t n = 0; n < x->trees.nodes; n++) {
		uint32_t number = *ending_at(x, n);
		struct group *g = number ? &x->groups[number - 1] : NULL;
		if (!g || g->in != IN_B)
			continue;
		uint64_t key = amounts_key(-g->more_blocks, -g->more_bytes);
		uint32_t a = map_get(&with_amounts, key, 0);

		while (a && !are_one(x, sign, &x->groups[a - 1], g))
			a = x->groups[a - 1].next;
		if (a)
			become_one(x, &x->groups[a - 1], g);
	}
	map_release(&with_amounts);
	free(sign);
}

/* The paths of a side's stacks that remain in A alone or in B alone. */
static uint64_t *find_wanted(const struct joining *x, size_t side)
{
	const struct join *j = x->j;
	const struct skeleton *t = tree_of(x, side);
	uint64_t *wanted = xcalloc(t->nodes / 64 + 1ul, sizeof *wanted);

	for (size_t i = 0; i < j->sides[side]->stack_count; i++) {
		uint32_t n = side_node(j->sides[side], i);

		if (j->list[j->of_stack[side][i]].by != JOIN_NOT)
			continue;
		for (; n && !bit_of(wanted, n); n = t->parent[n])
			wanted[n / 64] |= 1ull << n % 64;
	}
	return wanted;
}

static bool some_remain(const struct join *j)
{
	bool a = false, b = false;

	for (size_t i = 0; i < j->list_count && !(a && b); i++) {
		a |= j->list[i].by == JOIN_NOT && is_on_side(j, i, false);
		b |= j->list[i].by == JOIN_NOT && is_on_side(j, i, true);
	}
	return a && b;
}

static void join_by_node(struct joining *x, enum join_by by, bool by_site)
{
	find_groups(x, by_site);
	if (by == JOIN_COMMON)
		find_parts(x);
	join_groups(x, by);
	memset(x->of_node, 0, x->node_room * sizeof *x->of_node);
}

void joining_rest(struct joining *x, enum join_by by)
{
	if (x->j->keys->one_run || !some_remain(x->j))
		return;
	begin_union(x);
	x->group_of = xcalloc(x->j->list_count + 1, sizeof *x->group_of);
	for (size_t i = 0; i < x->j->count; i++) {
		uint64_t *wanted = find_wanted(x, i);

		if (by == JOIN_OUTLINE)
			enter_outlines(x, i, wanted);
		else
			enter_common(x, i, wanted);
		free(wanted);
	}
	if (by == JOIN_OUTLINE)
		join_by_node(x, by, true);
	join_by_node(x, by, false);
	free(x->group_of);
}
