/* SPDX-License-Identifier: MIT
 *
 * columns.c - puts new nodes and slots into the order of stacks: the skeleton is made again, and a
 * counting sort over stacks gives each slot its place. The old slots move with their counters.
 */
#include "heap/columns.h"
#include "heap/room.h"

#include <stdlib.h>
#include <string.h>

void columns_init(struct columns *c)
{
	*c = (struct columns){ .sampled_epoch = UINT64_MAX, .rests = true };
	GROW(c->is_stack, c->stack_room, 1);
	c->skeleton = skeleton_new(NULL, NULL, 0, c->is_stack, NULL);
	idmap_set(&c->skeleton->ids, 0, 0);
	c->slots = slots_new(0);
	c->first = xcalloc(1, sizeof *c->first);
}

static void release_places(struct columns *c)
{
	free(c->place_of);
	free(c->first);
	free(c->now);
	free(c->weighed_bits);
	live_list_release(&c->base.from);
	live_list_release(&c->base.until);
	free(c->rate);
	free(c->rated_bits);
}

void columns_release(struct columns *c)
{
	skeleton_drop(c->skeleton);
	slots_drop(c->slots);
	release_places(c);
	idmap_release(&c->node_ids);
	idmap_release(&c->slot_ids);
	free(c->nodes_came);
	free(c->slots_came);
	free(c->rates_came);
	free(c->proven_came);
	free(c->is_stack);
	free(c->grown);
	free(c->sampled_bits);
	wide_release(&c->now_wide);
	wide_release(&c->rate_wide);
	window_release(&c->window);
	peak_release(&c->peak);
}

uint32_t columns_add_node(struct columns *c, uint32_t parent, uint32_t location, uint32_t id,
			  bool by_pointer)
{
	uint32_t number = columns_nodes(c);

	GROW(c->nodes_came, c->node_room, c->node_count + 1);
	GROW(c->is_stack, c->stack_room, number / 64 + 1ul);
	c->nodes_came[c->node_count++] = (struct arrival){ parent, location, id, by_pointer };
	idmap_set(&c->node_ids, id, number);
	return number;
}

uint32_t columns_add_slot(struct columns *c, uint32_t node, uint32_t epoch, uint32_t id)
{
	uint32_t number = columns_slots(c);

	GROW(c->slots_came, c->slot_room, c->slot_count + 1);
	GROW(c->sampled_bits, c->sampled_room, number / 64 + 1ul);
	c->slots_came[c->slot_count++] = (struct slot_arrival){ .node = node, .epoch = epoch };
	c->moved = c->moved || !bit_of(c->is_stack, node);
	c->is_stack[node / 64] |= 1ull << node % 64;
	idmap_set(&c->slot_ids, id, number);
	return number;
}

void columns_weigh(struct columns *c, uint32_t slot)
{
	uint32_t placed = c->slots->count;

	if (slot >= placed)
		c->slots_came[slot - placed].weighed = true;
	else
		c->weighed_bits[c->place_of[slot] / 64] |= 1ull << c->place_of[slot] % 64;
}

/* Of what is given up, unless a snapshot holds it. */
static void take_ids(struct idmap *to, struct idmap *from, const atomic_uint *users)
{
	if (!users_alone(users)) {
		idmap_copy(to, from);
		return;
	}
	*to = *from;
	*from = (struct idmap){ 0 };
}

/* Of all slots, by arrival: the stack of each in the new skeleton. stack: of each old one. */
static struct slots *all_slots(struct columns *c, const uint32_t *stack)
{
	struct slots *to = slots_new(columns_slots(c));
	uint32_t placed = c->slots->count;

	for (uint32_t a = 0; a < placed; a++)
		to->stack[a] = stack[c->slots->stack[a]];
	memcpy(to->epoch, c->slots->epoch, placed * sizeof *to->epoch);
	for (size_t i = 0; i < c->slot_count; i++) {
		to->stack[placed + i] = columns_stack(c, c->slots_came[i].node);
		to->epoch[placed + i] = c->slots_came[i].epoch;
	}
	take_ids(&to->ids, &c->slots->ids, &c->slots->users);
	idmap_move(&to->ids, &c->slot_ids);
	return to;
}

/* Where the slots of each stack begin: the old ones and those that came. */
static void find_firsts(struct columns *to, const struct columns *c, uint32_t old_stacks,
			const uint32_t *stack)
{
	uint32_t placed = c->slots->count, stacks = c->skeleton->stacks;

	to->first = room_large(stacks + 2ul, sizeof *to->first);
	for (uint32_t k = 0; k < old_stacks; k++)
		to->first[stack[k] + 1] = c->first[k + 1] - c->first[k];
	for (uint32_t a = placed; a < to->slots->count; a++)
		to->first[to->slots->stack[a] + 1]++;
	for (uint32_t k = 0; k < stacks; k++)
		to->first[k + 1] += to->first[k];
}

/* Slots by stack, those of one stack as they came: its old ones stay together. */
static void find_places(struct columns *to, const struct columns *c, uint32_t old_stacks,
			const uint32_t *stack)
{
	uint32_t placed = c->slots->count, *by = room_large(old_stacks + 1ul, sizeof *by);
	uint32_t *came = room_large(c->skeleton->stacks + 1ul, sizeof *came);

	to->place_of = room_large(to->slots->count + 1ul, sizeof *to->place_of);
	for (uint32_t k = 0; k < old_stacks; k++)
		by[k] = to->first[stack[k]] - c->first[k];
	for (uint32_t a = 0; a < placed; a++)
		to->place_of[a] = c->place_of[a] + by[c->slots->stack[a]];
	for (uint32_t a = to->slots->count; a-- > placed;) {
		uint32_t k = to->slots->stack[a];

		to->place_of[a] = to->first[k + 1] - ++came[k];
	}
	free(by);
	free(came);
}

static void set_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= 1ull << i % 64;
}

static void make_room(struct columns *to, const struct columns *from)
{
	size_t count = to->slots->count + 1ul, words = to->slots->count / 64 + 1ul;

	to->now = room_large(count, sizeof *to->now);
	to->weighed_bits = xcalloc(words, sizeof *to->weighed_bits);
	if (from->rated) {
		to->rate = room_large(count, sizeof *to->rate);
		to->rated_bits = xcalloc(words, sizeof *to->rated_bits);
	}
	if (from->base.from.list)
		to->base.from.list = room_large(count, sizeof *to->base.from.list);
	if (from->base.until.list)
		to->base.until.list = room_large(count, sizeof *to->base.until.list);
}

static void put_rate(struct columns *to, uint32_t at, const struct narrow *rate)
{
	to->rate[at] = *rate;
	set_bit(to->rated_bits, at);
}

/* From the place `old` of `from`. */
static void move_slot(struct columns *to, uint32_t at, const struct columns *from, uint32_t old)
{
	to->now[at] = from->now[old];
	if (from->base.from.list)
		live_list_put(&to->base.from, at, live_list_at(&from->base.from, old));
	if (from->base.until.list)
		live_list_put(&to->base.until, at, live_list_at(&from->base.until, old));
	if (bit_of(from->weighed_bits, old))
		set_bit(to->weighed_bits, at);
	if (from->rate && bit_of(from->rated_bits, old))
		put_rate(to, at, &from->rate[old]);
}

/* What the slots of `from` have, to their places in `to`: those of a stack one after the other, so
 * that both are read from one end to the other. stack: of each of `from`. wide: of its counters,
 * which stay where they are. */
static void move_slots(struct columns *to, const struct columns *from, uint32_t stacks,
		       const uint32_t *stack, struct wide *wide)
{
	uint32_t placed = from->slots->count;

	for (uint32_t k = 0; k < stacks; k++) {
		uint32_t at = to->first[stack[k]];

		for (uint32_t old = from->first[k]; old < from->first[k + 1]; old++)
			move_slot(to, at++, from, old);
	}
	for (size_t i = 0; i < from->slot_count; i++) {
		const struct slot_arrival *s = &from->slots_came[i];
		uint32_t at = to->place_of[placed + i];

		narrow_set(&to->now[at], wide, quad_of_tally(&s->now));
		if (s->weighed)
			set_bit(to->weighed_bits, at);
		if (i < from->rates_room && window_has(from, &from->rates_came[i]))
			put_rate(to, at, &from->rates_came[i]);
	}
}

/* The places of `to` become those of `c`. */
static void take_places(struct columns *c, const struct columns *to)
{
	release_places(c);
	slots_drop(c->slots);
	c->slots = to->slots;
	c->place_of = to->place_of;
	c->first = to->first;
	c->now = to->now;
	c->weighed_bits = to->weighed_bits;
	c->rate = to->rate;
	c->rated_bits = to->rated_bits;
	c->base = to->base;
	c->slot_count = 0;
	COLUMNS_TRIM(c->slots_came, c->slot_room);
	free(c->rates_came);
	c->rates_came = NULL;
	c->rates_room = 0;
}

/* moved: where the nodes of the old skeleton are; NULL: where they were. Takes both: a million
 * slots move without the old call tree. */
static void place_slots(struct columns *c, struct skeleton *was, uint32_t *moved)
{
	uint32_t stacks = was->stacks, *stack = room_large(stacks + 1ul, sizeof *stack);

	for (uint32_t k = 0; k < stacks; k++)
		stack[k] = moved ? skeleton_first(c->skeleton, moved[was->node_of_stack[k]]) : k;
	free(moved);
	if (was != c->skeleton)
		skeleton_drop(was);
	struct columns to = { .slots = all_slots(c, stack) };
	find_firsts(&to, c, stacks, stack);
	find_places(&to, c, stacks, stack);
	make_room(&to, c);
	move_slots(&to, c, stacks, stack, &c->now_wide);
	take_places(c, &to);
	free(stack);
}

static void grow_skeleton(struct columns *c, uint32_t **moved)
{
	struct skeleton *s = skeleton_new(c->skeleton, c->nodes_came, (uint32_t)c->node_count,
					  c->is_stack, moved);

	take_ids(&s->ids, &c->skeleton->ids, &c->skeleton->users);
	idmap_move(&s->ids, &c->node_ids);
	for (size_t i = 0; i < c->proven_count; i++)
		set_bit(s->by_pointer_bits, s->node_of[c->proven_came[i]]);
	c->skeleton = s;
	c->node_count = c->proven_count = 0;
	c->moved = false;
	COLUMNS_TRIM(c->nodes_came, c->node_room);
}

bool columns_settle(struct columns *c)
{
	struct skeleton *was = c->skeleton;
	bool another = c->node_count || c->moved;
	uint32_t *moved = NULL;

	if (!another && !c->slot_count)
		return false;
	if (another)
		grow_skeleton(c, &moved);
	place_slots(c, was, moved);
	return another;
}

void columns_rank(struct columns *c, const uint32_t *rank, uint32_t ranks)
{
	struct skeleton *was = c->skeleton;
	uint32_t *moved;

	c->skeleton = skeleton_ranked(was, rank, ranks, &moved);
	take_ids(&c->skeleton->ids, &was->ids, &was->users);
	place_slots(c, was, moved);
}

/* NULL: nothing was counted yet, all is 0. */
static void *copy_of(const void *list, size_t bytes)
{
	void *to = xcalloc(1, bytes);

	if (list)
		memcpy(to, list, bytes);
	return to;
}

/* The first `count` of both have the same ids in the same order. */
static bool same_ids(const struct idmap *a, const struct idmap *b, uint32_t count)
{
	uint32_t end = a->end < b->end ? a->end : b->end, found = 0;

	for (uint32_t id = 0; id < end && found < count; id++) {
		uint32_t x = idmap_get(a, id);

		if (x >= count)
			continue;
		if (idmap_get(b, id) != x)
			return false;
		found++;
	}
	return found == count;
}

static bool begin_alike(const struct columns *a, const struct columns *b)
{
	uint32_t nodes =
		a->skeleton->nodes < b->skeleton->nodes ? a->skeleton->nodes : b->skeleton->nodes;
	uint32_t slots = a->slots->count < b->slots->count ? a->slots->count : b->slots->count;

	return a->slots == b->slots || (same_ids(&a->skeleton->ids, &b->skeleton->ids, nodes) &&
					same_ids(&a->slots->ids, &b->slots->ids, slots));
}

bool columns_adopt(struct columns *c, const struct columns *from)
{
	uint32_t count = from->slots->count, nodes = from->skeleton->nodes;
	struct columns to = { .slots = from->slots };

	if (!begin_alike(c, from))
		return false;
	if (c->slots == from->slots || c->skeleton->nodes > nodes || c->slots->count > count)
		return true;
	slots_hold(to.slots);
	to.place_of = copy_of(from->place_of, (count + 1ul) * sizeof *to.place_of);
	to.first = copy_of(from->first, (from->skeleton->stacks + 1ul) * sizeof *to.first);
	make_room(&to, c);
	uint32_t *stack = skeleton_stacks_in(c->skeleton, from->skeleton);
	move_slots(&to, c, c->skeleton->stacks, stack, &c->now_wide);
	free(stack);
	take_places(c, &to);
	skeleton_drop(c->skeleton);
	c->skeleton = skeleton_hold(from->skeleton);
	GROW(c->is_stack, c->stack_room, nodes / 64 + 1ul);
	memcpy(c->is_stack, from->is_stack, (nodes / 64 + 1ul) * sizeof *c->is_stack);
	GROW(c->sampled_bits, c->sampled_room, count / 64 + 1ul);
	return true;
}
