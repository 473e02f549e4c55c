/* SPDX-License-Identifier: MIT
 *
 * columns.c - puts new nodes and slots into the order of stacks: the skeleton is made again, and a
 * counting sort over stacks gives each slot its place. The old slots move with their counters.
 */
#include "heap/columns.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 16u   /* in memory */
#define KEPT 65536u /* elements: what came at once, like a first state, is given back */

#define TRIM(list, room)                                                                           \
	((room) > KEPT ? (free(list), (void)((list) = NULL), (void)((room) = 0)) : (void)0)

void columns_init(struct columns *c)
{
	*c = (struct columns){ 0 };
	GROW(c->is_stack, c->stack_room, 1);
	c->skeleton = skeleton_new(NULL, NULL, 0, c->is_stack);
	c->first = xcalloc(1, sizeof *c->first);
}

static void release_slots(struct columns *c)
{
	free(c->place_of);
	free(c->first);
	free(c->now);
	free(c->epoch);
	free(c->weighed_bits);
	free(c->base.from);
	free(c->base.until);
	free(c->rate);
	free(c->rated_bits);
}

void columns_release(struct columns *c)
{
	skeleton_drop(c->skeleton);
	release_slots(c);
	free(c->nodes_came);
	free(c->slots_came);
	free(c->is_stack);
}

uint32_t columns_add_node(struct columns *c, uint32_t parent, uint32_t location, uint32_t id,
			  bool by_pointer)
{
	uint32_t number = c->skeleton->nodes + (uint32_t)c->node_count;

	GROW(c->nodes_came, c->node_room, c->node_count + 1);
	GROW(c->is_stack, c->stack_room, number / 64 + 1ul);
	c->nodes_came[c->node_count++] = (struct arrival){ parent, location, id, by_pointer };
	return number;
}

uint32_t columns_add_slot(struct columns *c, uint32_t node, uint32_t epoch)
{
	GROW(c->slots_came, c->slot_room, c->slot_count + 1);
	c->slots_came[c->slot_count] = (struct slot_arrival){ node, epoch };
	c->moved = c->moved || !bit_of(c->is_stack, node);
	c->is_stack[node / 64] |= 1ull << node % 64;
	return c->slots + (uint32_t)c->slot_count++;
}

/* By the old place of each old slot: the stack that it has in the new skeleton. */
static uint32_t *stacks_of_old(const struct columns *c, const struct skeleton *was,
			       const uint32_t *arrival_of)
{
	uint32_t *stack = xmalloc((c->slots + 1ul) * sizeof *stack);

	for (uint32_t k = 0; k < was->stacks; k++) {
		uint32_t node = c->skeleton->node_of[arrival_of[was->node_of_stack[k]]];
		uint32_t now = skeleton_first(c->skeleton, node);

		for (uint32_t s = c->first[k]; s < c->first[k + 1]; s++)
			stack[s] = now;
	}
	return stack;
}

static uint32_t *arrivals_of(const struct skeleton *s)
{
	uint32_t *of = xmalloc(s->nodes * sizeof *of);

	for (uint32_t a = 0; a < s->nodes; a++)
		of[s->node_of[a]] = a;
	return of;
}

/* Old and new slots to their places in the order of stacks; those of one stack as they came. */
static void place_slots(struct columns *c, const struct skeleton *was)
{
	uint32_t stacks = c->skeleton->stacks, all = c->slots + (uint32_t)c->slot_count;
	uint32_t *arrival_of = arrivals_of(was), *stack_of = stacks_of_old(c, was, arrival_of);
	struct columns to = { .place_of = xmalloc((all + 1ul) * sizeof *to.place_of),
			      .first = xcalloc(stacks + 2ul, sizeof *to.first),
			      .now = xcalloc(all + 1ul, sizeof *to.now),
			      .epoch = xmalloc((all + 1ul) * sizeof *to.epoch),
			      .weighed_bits = xcalloc(all / 64 + 1ul, sizeof(uint64_t)) };
	if (c->rate) {
		to.rate = xcalloc(all + 1ul, sizeof *to.rate);
		to.rated_bits = xcalloc(all / 64 + 1ul, sizeof *to.rated_bits);
	}
	if (c->base.from)
		to.base.from = xcalloc(all + 1ul, sizeof *to.base.from);
	if (c->base.until)
		to.base.until = xcalloc(all + 1ul, sizeof *to.base.until);
	uint32_t *next = to.first + 1; /* of a stack, while slots are placed */

	for (uint32_t s = 0; s < c->slots; s++)
		if (stack_of[s] + 1 < stacks)
			next[stack_of[s] + 1]++;
	for (size_t i = 0; i < c->slot_count; i++) {
		uint32_t k =
			skeleton_first(c->skeleton, c->skeleton->node_of[c->slots_came[i].node]);

		if (k + 1 < stacks)
			next[k + 1]++;
	}
	for (uint32_t k = 1; k < stacks; k++)
		next[k] += next[k - 1];
	for (uint32_t a = 0; a < all; a++) {
		uint32_t old = a < c->slots ? c->place_of[a] : 0;
		const struct slot_arrival *came =
			a < c->slots ? NULL : &c->slots_came[a - c->slots];
		uint32_t k = came ? skeleton_first(c->skeleton, c->skeleton->node_of[came->node])
				  : stack_of[old];
		uint32_t at = next[k]++;

		to.place_of[a] = at;
		to.epoch[at] = came ? came->epoch : c->epoch[old];
		if (came)
			continue;
		to.now[at] = c->now[old];
		if (c->base.from)
			to.base.from[at] = c->base.from[old];
		if (c->base.until)
			to.base.until[at] = c->base.until[old];
		if (bit_of(c->weighed_bits, old))
			to.weighed_bits[at / 64] |= 1ull << at % 64;
		if (!c->rate || !bit_of(c->rated_bits, old))
			continue;
		to.rate[at] = c->rate[old];
		to.rated_bits[at / 64] |= 1ull << at % 64;
	}
	free(arrival_of);
	free(stack_of);
	release_slots(c);
	c->place_of = to.place_of;
	c->first = to.first;
	c->now = to.now;
	c->epoch = to.epoch;
	c->weighed_bits = to.weighed_bits;
	c->base = to.base;
	c->rate = to.rate;
	c->rated_bits = to.rated_bits;
	c->slots = all;
	c->slot_count = 0;
}

bool columns_settle(struct columns *c)
{
	struct skeleton *was = c->skeleton;
	bool another = c->node_count || c->moved;

	if (!another && !c->slot_count)
		return false;
	if (another)
		c->skeleton =
			skeleton_new(was, c->nodes_came, (uint32_t)c->node_count, c->is_stack);
	c->node_count = 0;
	c->moved = false;
	place_slots(c, was);
	TRIM(c->nodes_came, c->node_room);
	TRIM(c->slots_came, c->slot_room);
	if (another)
		skeleton_drop(was);
	return another;
}

void columns_rank(struct columns *c, const uint32_t *rank, uint32_t ranks)
{
	struct skeleton *was = c->skeleton;

	c->skeleton = skeleton_ranked(was, rank, ranks);
	place_slots(c, was);
	skeleton_drop(was);
}

/* --- batches */

void heap_batch_release(struct heap_batch *b)
{
	for (size_t i = 0; i < b->expired_count; i++)
		free(b->expired[i].entries);
	free(b->expired);
	free(b->nodes);
	free(b->slots);
	free(b->counts);
	free(b->rates);
	*b = (struct heap_batch){ 0 };
}

/* Slots lie anywhere in memory. */
static void take_counts(struct columns *c, const struct heap_batch *b)
{
	for (size_t i = 0; i < b->count_count; i++) {
		if (i + AHEAD < b->count_count)
			__builtin_prefetch(&c->place_of[b->counts[i + AHEAD].slot]);
		if (i + AHEAD / 2 < b->count_count)
			__builtin_prefetch(&c->now[c->place_of[b->counts[i + AHEAD / 2].slot]], 1);
		columns_count(c, b->counts[i].slot, &b->counts[i].now, b->counts[i].weighed);
	}
}

static void take_rates(struct columns *c, const struct rate_entry *list, size_t count, bool add)
{
	if (count && !c->rate) {
		c->rate = xcalloc(c->slots + 1ul, sizeof *c->rate);
		c->rated_bits = xcalloc(c->slots / 64 + 1ul, sizeof *c->rated_bits);
	}
	for (size_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(&c->place_of[list[i + AHEAD].slot]);
		if (i + AHEAD / 2 < count)
			__builtin_prefetch(&c->rate[c->place_of[list[i + AHEAD / 2].slot]], 1);
		uint32_t at = c->place_of[list[i].slot];
		struct rate r = { list[i].bytes, list[i].blocks, list[i].freed };

		if (add)
			rate_add(&c->rate[at], &r);
		else
			c->rate[at] = rate_sub(&c->rate[at], &r);
		if (rate_any(&c->rate[at]))
			c->rated_bits[at / 64] |= 1ull << at % 64;
		else
			c->rated_bits[at / 64] &= ~(1ull << at % 64);
	}
}

void columns_take(struct columns *c, struct heap_batch *b)
{
	for (size_t i = 0; i < b->node_count; i++)
		columns_add_node(c, b->nodes[i].parent, b->nodes[i].location, b->nodes[i].id,
				 b->nodes[i].by_pointer);
	for (size_t i = 0; i < b->slot_count; i++)
		columns_add_slot(c, b->slots[i].node, b->slots[i].epoch);
	columns_settle(c);
	take_counts(c, b);
	take_rates(c, b->rates, b->rate_count, true);
	for (size_t i = 0; i < b->expired_count; i++) {
		take_rates(c, b->expired[i].entries, b->expired[i].count, false);
		free(b->expired[i].entries);
	}
	b->node_count = b->slot_count = b->count_count = b->rate_count = b->expired_count = 0;
	TRIM(b->nodes, b->node_room);
	TRIM(b->slots, b->slot_room);
	TRIM(b->counts, b->count_room);
	TRIM(b->rates, b->rate_room);
}
