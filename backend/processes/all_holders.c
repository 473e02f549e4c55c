/* SPDX-License-Identifier: MIT
 *
 * all_holders.c - which processes hold the live blocks of some stacks, and how much of them. Their
 * number is asked for each row of a report, so each member has a bit for each node where it holds
 * any; the amounts are asked for one row at a time, and added up then.
 */
#include "processes/all_state.h"

#include <stdlib.h>

static bool holds(const struct member *m, const uint32_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] < m->nodes && bit_of(m->holds_bits, ids[i]))
			return true;
	return false;
}

size_t all_holders(const struct all *a, const uint32_t *ids, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		if (holds(&a->members[i], ids, count))
			n += a->members[i].stands_for;
	return n;
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
