/* SPDX-License-Identifier: MIT
 *
 * skeleton.c - makes a call tree in depth-first order, in three passes over its nodes: sizes of
 * subtrees from the leaves up, places from the root down, columns to their places. The old order is
 * depth-first already, so its parts are read nearly one after the other.
 */
#include "heap/skeleton.h"
#include "heap/room.h"

#include <stdlib.h>
#include <string.h>

/* Numbers while it is made: the old nodes in their order, then the new ones. */
struct making {
	const struct skeleton *old;
	const struct arrival *list;
	uint32_t before, all;   /* old nodes; all */
	uint32_t *place, *next; /* next: first the size, then where the next child goes */
};

static uint32_t number_of(const struct making *m, uint32_t arrival)
{
	return arrival < m->before && m->old ? m->old->node_of[arrival] : arrival;
}

static uint32_t parent_of(const struct making *m, uint32_t i)
{
	if (i >= m->before)
		return number_of(m, m->list[i - m->before].parent);
	return m->old ? m->old->parent[i] : NO_ID;
}

static void find_places(struct making *m)
{
	for (uint32_t i = 0; i < m->all; i++)
		m->next[i] = 1;
	for (uint32_t i = m->all; i-- > 1;)
		m->next[parent_of(m, i)] += m->next[i];
	m->place[0] = 0;
	m->next[0] = 1;
	for (uint32_t i = 1; i < m->all; i++) {
		uint32_t up = parent_of(m, i), size = m->next[i];

		m->place[i] = m->next[up];
		m->next[up] += size;
		m->next[i] = m->place[i] + 1;
	}
	/* next[i] has run past the last child: it is the end now. */
}

static uint32_t words(uint32_t bits)
{
	return bits / 64 + 1;
}

static void fill(struct skeleton *s, const struct making *m)
{
	for (uint32_t i = 0; i < m->all; i++) {
		const struct arrival *a = i < m->before ? NULL : &m->list[i - m->before];
		uint32_t n = m->place[i], up = parent_of(m, i);

		s->parent[n] = up == NO_ID ? NO_ID : m->place[up];
		s->end[n] = m->next[i];
		s->location[n] = a ? a->location : m->old ? m->old->location[i] : NO_ID;
		s->id[n] = a ? a->id : m->old ? m->old->id[i] : 0;
		if (a ? a->by_pointer : m->old && bit_of(m->old->by_pointer_bits, i))
			s->by_pointer_bits[n / 64] |= 1ull << n % 64;
	}
}

static void number_stacks(struct skeleton *s, const uint64_t *stacks)
{
	uint32_t count = 0;

	for (uint32_t a = 0; a < s->nodes; a++)
		if (bit_of(stacks, a))
			s->stack_bits[s->node_of[a] / 64] |= 1ull << s->node_of[a] % 64;
	for (uint32_t i = 0; i < words(s->nodes); i++) {
		s->stacks_before[i] = count;
		count += (uint32_t)__builtin_popcountll(s->stack_bits[i]);
	}
	s->stacks = count;
	s->node_of_stack = room_large(count + 1ul, sizeof *s->node_of_stack);
	count = 0;
	for (uint32_t i = 0; i < words(s->nodes); i++)
		for (uint64_t left = s->stack_bits[i]; left; left &= left - 1)
			s->node_of_stack[count++] = i * 64 + (uint32_t)__builtin_ctzll(left);
}

static struct skeleton *new_of(uint32_t nodes)
{
	struct skeleton *s = xcalloc(1, sizeof *s);

	atomic_init(&s->users, 1);
	s->nodes = nodes;
	s->parent = room_large(nodes, sizeof *s->parent);
	s->end = room_large(nodes, sizeof *s->end);
	s->location = room_large(nodes, sizeof *s->location);
	s->id = room_large(nodes, sizeof *s->id);
	s->node_of = room_large(nodes, sizeof *s->node_of);
	s->stack_bits = xcalloc(words(nodes), sizeof(uint64_t));
	s->by_pointer_bits = xcalloc(words(nodes), sizeof(uint64_t));
	s->stacks_before = xmalloc(words(nodes) * sizeof(uint32_t));
	return s;
}

struct skeleton *skeleton_new(const struct skeleton *old, const struct arrival *list,
			      uint32_t count, const uint64_t *stacks, uint32_t **moved)
{
	struct making m = { .old = old, .list = list, .before = old ? old->nodes : 1 };

	m.all = m.before + count;
	struct skeleton *s = new_of(m.all);
	m.place = room_large(m.all, sizeof *m.place);
	m.next = room_large(m.all, sizeof *m.next);
	find_places(&m);
	fill(s, &m);
	for (uint32_t a = 0; a < m.all; a++)
		s->node_of[a] = m.place[number_of(&m, a)];
	number_stacks(s, stacks);
	if (moved)
		*moved = m.place;
	else
		free(m.place);
	free(m.next);
	return s;
}

/* Positions by counts: a count becomes the number of all smaller ones. */
static void add_up(uint32_t *next, size_t count)
{
	uint32_t before = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t here = next[i];

		next[i] = before;
		before += here;
	}
}

/* All nodes but the root, by rank, and of one rank in their order. */
static uint32_t *by_rank(const struct skeleton *s, const uint32_t *rank, uint32_t ranks)
{
	uint32_t *next = xcalloc(ranks + 1ul, sizeof *next);
	uint32_t *list = xmalloc(s->nodes * sizeof *list);

	for (uint32_t n = 1; n < s->nodes; n++)
		next[rank[s->location[n]]]++;
	add_up(next, ranks + 1ul);
	for (uint32_t n = 1; n < s->nodes; n++)
		list[next[rank[s->location[n]]]++] = n;
	free(next);
	return list;
}

/* Where each node goes: children one behind the other, in the order of `list`. */
static uint32_t *ranked_places(const struct skeleton *s, const uint32_t *list)
{
	uint32_t *next = xcalloc(s->nodes + 1ul, sizeof *next);
	uint32_t *children = xmalloc(s->nodes * sizeof *children);
	uint32_t *place = xmalloc(s->nodes * sizeof *place);

	for (uint32_t n = 1; n < s->nodes; n++)
		next[s->parent[n]]++;
	add_up(next, s->nodes);
	for (uint32_t i = 0; i + 1 < s->nodes; i++)
		children[next[s->parent[list[i]]]++] = list[i];
	place[0] = 0;
	for (uint32_t n = 0, i = 0; n < s->nodes; n++) {
		uint32_t at = place[n] + 1;

		for (; i < next[n]; i++) {
			place[children[i]] = at;
			at += s->end[children[i]] - children[i];
		}
	}
	free(next);
	free(children);
	return place;
}

struct skeleton *skeleton_ranked(const struct skeleton *s, const uint32_t *rank, uint32_t ranks,
				 uint32_t **moved)
{
	uint32_t *list = by_rank(s, rank, ranks), *place = ranked_places(s, list);
	struct skeleton *to = new_of(s->nodes);
	uint64_t *stacks = xcalloc(words(s->nodes), sizeof *stacks); /* by arrival */

	free(list);
	for (uint32_t n = 0; n < s->nodes; n++) {
		uint32_t at = place[n];

		to->parent[at] = n ? place[s->parent[n]] : NO_ID;
		to->end[at] = at + s->end[n] - n;
		to->location[at] = s->location[n];
		to->id[at] = s->id[n];
		if (bit_of(s->by_pointer_bits, n))
			to->by_pointer_bits[at / 64] |= 1ull << at % 64;
	}
	for (uint32_t a = 0; a < s->nodes; a++) {
		to->node_of[a] = place[s->node_of[a]];
		if (bit_of(s->stack_bits, s->node_of[a]))
			stacks[a / 64] |= 1ull << a % 64;
	}
	number_stacks(to, stacks);
	free(stacks);
	*moved = place;
	return to;
}

static uint32_t stack_in(const struct skeleton *s, uint32_t stack, const struct skeleton *in)
{
	uint32_t arrival = skeleton_arrival(s, s->node_of_stack[stack]);
	uint32_t node = arrival < in->nodes ? in->node_of[arrival] : NO_ID;

	return node != NO_ID && bit_of(in->stack_bits, node) ? skeleton_first(in, node) : NO_ID;
}

/* Older nodes keep their order when others come, so both are read from one end to the other. */
uint32_t *skeleton_stacks_in(const struct skeleton *s, const struct skeleton *in)
{
	uint32_t *list = room_large(s->stacks + 1ul, sizeof *list), next = 0;

	for (uint32_t k = 0; k < s->stacks; k++) {
		bool follows = next < in->stacks &&
			       in->id[in->node_of_stack[next]] == s->id[s->node_of_stack[k]];

		list[k] = follows ? next : stack_in(s, k, in);
		if (list[k] != NO_ID)
			next = list[k] + 1;
	}
	return list;
}

struct skeleton *skeleton_hold(struct skeleton *s)
{
	users_hold(&s->users);
	return s;
}

void skeleton_drop(struct skeleton *s)
{
	if (!s || !users_drop(&s->users))
		return;
	free(s->parent);
	free(s->end);
	free(s->location);
	free(s->id);
	free(s->node_of);
	idmap_release(&s->ids);
	free(s->stack_bits);
	free(s->by_pointer_bits);
	free(s->stacks_before);
	free(s->node_of_stack);
	free(s);
}
