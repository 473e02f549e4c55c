/* SPDX-License-Identifier: MIT
 *
 * all_holders.c - which processes hold the live blocks of some stacks, and how much of them. Their
 * number is asked for each row of a report or a view. A row is ranges of stacks, so each member has
 * a bit for each stack, in the order of the call tree, where it holds any; they are made when
 * somebody asks, and stay until the next tick. The amounts are asked for one row at a time, and
 * added up then.
 */
#include "processes/all_state.h"

#include <stdlib.h>

void all_holders_release(struct all *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->members[i].order_bits);
		a->members[i].order_bits = NULL;
	}
	skeleton_drop(a->order);
	a->order = NULL;
}

/* Nodes of the union are the session's, by id. */
static void order_bits(struct member *me, const struct skeleton *s)
{
	me->order_bits = xcalloc(s->stacks / 64 + 1ul, sizeof *me->order_bits);
	for (uint32_t word = 0; word * 64ull < me->nodes; word++)
		for (uint64_t bits = me->holds_bits[word]; bits; bits &= bits - 1) {
			uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(bits),
				 node = skeleton_find(s, id);
			if (node == NO_ID || !bit_of(s->stack_bits, node))
				continue; /* newer than the snapshot */
			uint32_t stack = skeleton_first(s, node);
			me->order_bits[stack / 64] |= 1ull << stack % 64;
		}
}

/* Is there a bit in first .. end - 1? */
static bool any_of(const uint64_t *bits, uint32_t first, uint32_t end)
{
	if (first >= end)
		return false;
	uint32_t from = first / 64, last = (end - 1) / 64;
	uint64_t low = UINT64_MAX << first % 64, high = UINT64_MAX >> (63 - (end - 1) % 64);

	if (from == last)
		return bits[from] & low & high;
	if ((bits[from] & low) || (bits[last] & high))
		return true;
	while (++from < last)
		if (bits[from])
			return true;
	return false;
}

void all_holders(const struct all *all, struct skeleton *s, const struct process_part *parts,
		 size_t count, size_t *holders, size_t rows)
{
	struct all *a = (struct all *)all; /* only its scratch bits */

	if (a->order != s || a->order_ticks != a->ticks) {
		all_holders_release(a);
		a->order = skeleton_hold(s);
		a->order_ticks = a->ticks;
	}
	for (size_t i = 0; i < a->count; i++) {
		struct member *me = &a->members[i];
		uint32_t counted = NO_ID; /* row */
		if (!me->holds_bits)
			continue;
		if (!me->order_bits)
			order_bits(me, s);
		for (size_t k = 0; k < count; k++) {
			const struct process_part *x = &parts[k];
			if (x->row == counted || x->row >= rows ||
			    !any_of(me->order_bits, x->first, x->end))
				continue;
			counted = x->row;
			holders[x->row] += me->stands_for;
		}
	}
}

static struct live live_now(const struct member *me, const struct columns *columns,
			    const struct counting *c, uint32_t slot)
{
	struct kept_slot s = all_slot_of(me, columns, slot);

	if (!c->held || s.epoch < c->from)
		return (struct live){ 0 };
	return (struct live){ live_blocks(&s.now), live_bytes(&s.now) };
}

/* Its slots will not be there any more. */
void all_holders_keep(const struct all *a, struct member *me)
{
	struct counting c = all_counting(a, me, &a->shares[me->id]);
	const struct columns *columns = all_columns(me);

	for (uint32_t i = 0; i < me->placed; i++) {
		struct live is = live_now(me, columns, &c, i);
		if (me->to[i] == NO_ID || !(is.blocks | is.bytes))
			continue;
		GROW(me->lives, me->lives_room, me->live_count + 1);
		me->lives[me->live_count++] = (struct mark_change){ me->to[i], is };
	}
}

static struct live held_by(const struct all *a, const struct member *me, const uint64_t *wanted)
{
	struct live sum = { 0 };

	if (!me->id) {
		if (a->others_slot && bit_of(wanted, a->others_slot - 1)) {
			const struct tally *t = &a->slots[a->others_slot - 1].now;
			sum = (struct live){ live_blocks(t), live_bytes(t) };
		}
		return sum;
	}
	struct counting c = all_counting(a, me, &a->shares[me->id]);
	const struct columns *columns = all_columns(me);
	for (uint32_t i = 0; i < me->placed; i++) {
		if (me->to[i] == NO_ID || !bit_of(wanted, me->to[i]))
			continue;
		struct live is = live_now(me, columns, &c, i);
		sum.blocks += is.blocks;
		sum.bytes += is.bytes;
	}
	for (size_t i = 0; i < me->live_count; i++)
		if (bit_of(wanted, me->lives[i].slot)) {
			sum.blocks += me->lives[i].is.blocks;
			sum.bytes += me->lives[i].is.bytes;
		}
	return sum;
}

static int heaviest_first(const void *a, const void *b)
{
	const struct process_held *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

size_t all_held_by(const struct all *a, const uint32_t *slots, size_t count,
		   struct process_held **list)
{
	uint64_t *wanted = xcalloc(a->slot_count / 64 + 1ul, sizeof *wanted);
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (slots[i] && slots[i] <= a->slot_count)
			wanted[(slots[i] - 1) / 64] |= 1ull << (slots[i] - 1) % 64;
	*list = xcalloc(a->count + 1, sizeof **list);
	for (size_t i = 0; i < a->count; i++) {
		struct live is = held_by(a, &a->members[i], wanted);
		if (is.blocks | is.bytes)
			(*list)[n++] =
				(struct process_held){ a->members[i].id, is.blocks, is.bytes };
	}
	free(wanted);
	if (n)
		qsort(*list, n, sizeof **list, heaviest_first);
	return n;
}
