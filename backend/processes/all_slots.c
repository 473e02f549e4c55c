/* SPDX-License-Identifier: MIT
 *
 * all_slots.c - what All counts of its members' slots. A slot of All is a path between two marks of
 * All; the slots of members of that path and time are added up in it.
 */
#include "processes/all_state.h"

#include <stdlib.h>

/*
 * What All counts of a slot. Slots before `from` belong to an older process. Those before `own`
 * are what is left of an ended parent, which counted the allocations: only their live part is
 * added, as less freed.
 */
static struct tally part_of(const struct counting *c, const struct tally *now, uint64_t epoch)
{
	struct tally t = { 0 };

	if (epoch >= c->own) {
		t = *now;
		if (!c->held) {
			t.free_blocks = t.alloc_blocks;
			t.free_bytes = t.alloc_bytes;
		}
	} else if (epoch >= c->from && c->held) {
		t.free_blocks = -live_blocks(now);
		t.free_bytes = -live_bytes(now);
	}
	return t;
}

uint32_t all_slots_for(struct all *a, uint32_t node, uint32_t epoch)
{
	uint64_t key = (uint64_t)node << 32 | epoch;
	uint32_t slot = map_get(&a->slot_of, key, 0);

	if (slot)
		return slot - 1;
	union_end(&a->paths, node);
	GROW(a->slots, a->slot_room, a->slot_count + 1ul);
	a->slots[a->slot_count] = (struct all_slot){ .node = node, .epoch = epoch };
	map_set(&a->slot_of, key, a->slot_count + 1);
	return a->slot_count++;
}

/* NO_ID: what never counted anything is no slot of All. */
static void place_slots(struct all *a, struct member *me, const struct columns *columns)
{
	uint32_t count = all_slots_of(me, columns);

	if (me->placings != a->placings)
		me->placed = 0;
	me->placings = a->placings;
	GROW(me->to, me->to_room, count);
	for (; me->placed < count; me->placed++)
		me->to[me->placed] = NO_ID;
}

static void add_slot(struct all *a, struct member *me, const struct counting *c, uint32_t slot,
		     const struct kept_slot *s)
{
	struct tally t = part_of(c, &s->now, s->epoch);

	if (!(t.alloc_blocks | t.alloc_bytes | t.free_blocks | t.free_bytes))
		return;
	if (me->to[slot] == NO_ID)
		me->to[slot] = all_slots_for(a, s->node, all_marks_epoch(a, me, s->epoch));
	struct all_slot *to = &a->slots[me->to[slot]];
	tally_add(&to->now, &t);
	if (live_blocks(&t))
		me->holds_bits[s->node / 64] |= 1ull << s->node % 64;
	to->weighed |= s->weighed;
}

void all_slots_add(struct all *a, struct member *me)
{
	struct counting c = all_counting(a, me, &a->shares[me->id]);
	const struct columns *columns = all_columns(me);

	place_slots(a, me, columns);
	free(me->holds_bits);
	me->nodes = a->paths.nodes;
	me->holds_bits = xcalloc(me->nodes / 64 + 1ul, sizeof *me->holds_bits);
	for (uint32_t i = 0; i < me->placed; i++) {
		struct kept_slot s = all_slot_of(me, columns, i);
		add_slot(a, me, &c, i, &s);
	}
}
