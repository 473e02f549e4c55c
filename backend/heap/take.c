/* SPDX-License-Identifier: MIT
 *
 * take.c - takes what the wire says of call paths and counters into the columns.
 *
 * Nodes and slots are entered at once: they hold no values yet, so every sum stays true. Counters
 * are written at once, too, and what they grew by is kept until the tick, which makes it current:
 * columns_rest() takes it back for as long as somebody looks.
 */
#include "heap/take.h"

#include <stdlib.h>

#define GROWN_LEAST (1u << 20) /* between two ticks, and */
#define GROWN_TIMES 16u        /* so many a slot */

/* What ticks of a busy program need stays, what came at once is given back. */
static size_t kept(const struct columns *c, size_t slots_each)
{
	size_t most = columns_slots(c) / slots_each;

	return most > COLUMNS_KEPT ? most : COLUMNS_KEPT;
}

void columns_rest(struct columns *c)
{
	for (size_t i = 0; !c->rests && i < c->grown_count; i++) {
		struct tally now = columns_now(c, c->grown[i].slot);

		now = tally_sub(&now, &c->grown[i].by);
		columns_put(c, c->grown[i].slot, &now);
	}
	c->rests = true;
}

static void go_ahead(struct columns *c)
{
	for (size_t i = 0; c->rests && i < c->grown_count; i++) {
		struct tally now = columns_now(c, c->grown[i].slot);

		tally_add(&now, &c->grown[i].by);
		columns_put(c, c->grown[i].slot, &now);
	}
	c->rests = false;
}

/* No agent sends so many between two ticks. */
static int has_room(const struct columns *c, struct err *err)
{
	return c->grown_count < GROWN_LEAST + (size_t)columns_slots(c) * GROWN_TIMES
		       ? 0
		       : err_set(err, 3,
				 "stream: counters without end, and no tick; connect again");
}

static void note_grown(struct columns *c, uint32_t slot, const struct tally *by)
{
	GROW(c->grown, c->grown_room, c->grown_count + 1);
	c->grown[c->grown_count++] = (struct grown){ slot, *by };
}

/* A stack that has ever held estimates has them for good. */
static void take_estimate(struct columns *c, uint32_t slot)
{
	if (!bit_of(c->sampled_bits, slot))
		return;
	struct tally now = columns_now(c, slot);
	if (!(now.alloc_blocks | now.alloc_bytes))
		return;
	columns_weigh(c, slot);
	c->estimated = true;
}

static void take_grown(struct columns *c, const struct grown *g, bool rated)
{
	if (rated) {
		struct rate change = rate_of(&g->by);
		window_add(c, g->slot, &change);
	}
	if (c->first_epoch && columns_epoch(c, g->slot) < c->first_epoch)
		tally_add(&c->inherited, &g->by);
	take_estimate(c, g->slot);
}

static int take_tick(struct columns *c, const struct heap_event *e)
{
	for (size_t i = 0; i < c->grown_count; i++) {
		for (unsigned step = 0; e->on && step < 2; step++)
			if (i + (2ul - step) * COLUMNS_AHEAD < c->grown_count)
				window_expect(c, c->grown[i + (2ul - step) * COLUMNS_AHEAD].slot,
					      step);
		take_grown(c, &c->grown[i], e->on);
	}
	c->grown_count = 0;
	if (c->grown_room > kept(c, 16))
		COLUMNS_TRIM(c->grown, c->grown_room);
	return 0;
}

static int take_node(struct columns *c, const struct heap_event *e, struct err *err)
{
	uint32_t parent = columns_node(c, e->of), location = (uint32_t)e->number;

	if (e->id == 0 || e->id >= MTW_NODES_MAX || parent == NO_ID)
		return err_set(
			err, 3,
			"stream: node %u has the parent %u, which was never named; connect again",
			e->id, e->of);
	uint32_t number = columns_node(c, e->id);
	if (number == NO_ID) {
		columns_add_node(c, parent, location, e->id, false);
		return 0;
	}
	const struct skeleton *s = c->skeleton;
	bool same;
	if (number < s->nodes) {
		uint32_t n = s->node_of[number];
		same = parent < s->nodes && s->parent[n] == s->node_of[parent] &&
		       s->location[n] == location;
	} else {
		const struct arrival *a = &c->nodes_came[number - s->nodes];
		same = a->parent == parent && a->location == location;
	}
	return same ? 0
		    : err_set(err, 3, "stream: node %u was named twice, differently; connect again",
			      e->id);
}

static uint32_t node_of_slot(const struct columns *c, uint32_t slot)
{
	const struct skeleton *s = c->skeleton;

	return slot < c->slots->count ? s->id[s->node_of_stack[c->slots->stack[slot]]] : NO_ID;
}

static int take_slot(struct columns *c, const struct heap_event *e, struct err *err)
{
	uint32_t node = columns_node(c, e->of);

	if (e->id == 0 || e->id >= MTW_SLOTS_MAX || node == NO_ID)
		return err_set(
			err, 3,
			"stream: slot %u belongs to node %u, which was never named; connect again",
			e->id, e->of);
	uint32_t number = columns_slot(c, e->id);
	if (number == NO_ID) {
		columns_add_slot(c, node, (uint32_t)e->number, e->id);
		return 0;
	}
	bool same = number < c->slots->count ? node_of_slot(c, number) == e->of
					     : c->slots_came[number - c->slots->count].node == node;
	return same && columns_epoch(c, number) == e->number
		       ? 0
		       : err_set(err, 3,
				 "stream: slot %u was named twice, differently; connect again",
				 e->id);
}

/* It may be named before its node is in place, or long after. */
static int take_proven(struct columns *c, const struct heap_event *e, struct err *err)
{
	const struct skeleton *s = c->skeleton;
	uint32_t number = columns_node(c, e->id);

	if (number == NO_ID || number == 0)
		return err_set(err, 3,
			       "stream: node %u is proven, and was never named; connect again",
			       e->id);
	if (number >= s->nodes) {
		c->nodes_came[number - s->nodes].by_pointer = true;
	} else if (!bit_of(s->by_pointer_bits, s->node_of[number])) {
		GROW(c->proven_came, c->proven_room, c->proven_count + 1);
		c->proven_came[c->proven_count++] = number;
		c->moved = true;
	}
	return 0;
}

static int take_counts(struct columns *c, const struct heap_event *e, struct err *err)
{
	uint32_t slot = columns_slot(c, e->id);

	if (slot == NO_ID)
		return err_set(err, 3,
			       "stream: counters of slot %u, which was never named; connect again",
			       e->id);
	struct tally was = columns_now(c, slot);
	const struct tally *now = &e->t;
	if (now->alloc_blocks < was.alloc_blocks || now->alloc_bytes < was.alloc_bytes ||
	    now->free_blocks < was.free_blocks || now->free_bytes < was.free_bytes)
		return err_set(err, 3, "stream: counters of slot %u shrink; connect again", e->id);
	if (now->free_blocks > now->alloc_blocks || now->free_bytes > now->alloc_bytes)
		return err_set(err, 3,
			       "stream: slot %u freed more than it allocated; connect again",
			       e->id);
	struct tally by = tally_sub(now, &was);
	if (!(by.alloc_blocks | by.alloc_bytes | by.free_blocks | by.free_bytes))
		return 0; /* a renewed link says all of them again */
	if (has_room(c, err))
		return -1;
	note_grown(c, slot, &by);
	columns_put(c, slot, now);
	return 0;
}

/* The stack learns of it at the tick that counts the slot; for a slot counted already, at the
 * next. */
static int take_weighed(struct columns *c, const struct heap_event *e, struct err *err)
{
	static const struct tally nothing;
	uint32_t slot = columns_slot(c, e->id);
	uint64_t bit = 1ull << slot % 64;

	if (slot == NO_ID)
		return err_set(err, 3,
			       "stream: slot %u is weighed, and was never named; connect again",
			       e->id);
	bool was = c->sampled_bits[slot / 64] & bit;
	if (columns_epoch(c, slot) < c->sampled_epoch)
		c->sampled_epoch = columns_epoch(c, slot);
	c->sampled_bits[slot / 64] = (c->sampled_bits[slot / 64] & ~bit) | (e->on ? bit : 0);
	if (!was && has_room(c, err))
		return -1;
	if (!was)
		note_grown(c, slot, &nothing);
	return 0;
}

static int take_cell(const struct columns *c, const struct heap_event *e, struct err *err)
{
	return columns_slot(c, e->id) != NO_ID
		       ? 0
		       : err_set(err, 3,
				 "stream: %s %u names slot %u, which was never named; connect "
				 "again",
				 e->on ? "sample" : "mark", (uint32_t)e->number, e->id);
}

static int take_peak_cell(struct columns *c, const struct heap_event *e, struct err *err)
{
	uint32_t slot = columns_slot(c, e->id);

	if (slot == NO_ID)
		return err_set(err, 3,
			       "stream: the peak names slot %u, which was never named; connect "
			       "again",
			       e->id);
	if (e->t.free_blocks > e->t.alloc_blocks || e->t.free_bytes > e->t.alloc_bytes)
		return err_set(err, 3,
			       "stream: the counters of slot %u at the peak shrink; connect again",
			       e->id);
	peak_put(&c->peak, slot, &e->t);
	return 0;
}

static int take_peak(struct columns *c, const struct heap_event *e, struct err *err)
{
	uint32_t shrunk, id = 0;

	if (!peak_end(&c->peak, &e->t, &shrunk))
		return 0;
	if (shrunk == NO_ID)
		return err_set(err, 3,
			       "stream: the counters at the peak are not its totals; connect "
			       "again");
	while (columns_slot(c, id) != shrunk)
		id++;
	return err_set(err, 3, "stream: the counters of slot %u at the peak shrink; connect again",
		       id);
}

static int take_rate(struct columns *c, const struct heap_event *e)
{
	uint32_t slot = columns_slot(c, e->id);
	struct rate change = rate_of(&e->t);

	if (slot != NO_ID)
		window_add(c, slot, &change);
	return 0;
}

static int take_epoch(struct columns *c, const struct heap_event *e)
{
	columns_rest(c);
	c->first_epoch = e->number;
	c->inherited = (struct tally){ 0 };
	for (uint32_t a = 0; c->first_epoch && a < columns_slots(c); a++)
		if (columns_epoch(c, a) < c->first_epoch) {
			struct tally now = columns_now(c, a);
			tally_add(&c->inherited, &now);
		}
	go_ahead(c);
	return 0;
}

static int take(struct columns *c, const struct heap_event *e, struct err *err)
{
	switch ((enum heap_event_type)e->type) {
	case HEAP_NODE: return take_node(c, e, err);
	case HEAP_SLOT: return take_slot(c, e, err);
	case HEAP_COUNTS: return take_counts(c, e, err);
	case HEAP_WEIGHED: return take_weighed(c, e, err);
	case HEAP_PROVEN: return take_proven(c, e, err);
	case HEAP_CELL: return take_cell(c, e, err);
	case HEAP_PEAK: peak_begin(&c->peak); return 0;
	case HEAP_PEAK_CELL: return take_peak_cell(c, e, err);
	case HEAP_PEAK_WHOLE: return take_peak(c, e, err);
	case HEAP_TICK: return take_tick(c, e);
	case HEAP_PART: window_open(&c->window); return 0;
	case HEAP_PART_ENDS: window_end(c); return 0;
	case HEAP_RATE: return take_rate(c, e);
	case HEAP_EPOCH: return take_epoch(c, e);
	}
	return 0;
}

/* What will be read of the ids, then of the slot, then its counters. */
FETCHES fetch(const struct columns *c, const struct heap_event *e, unsigned step)
{
	if (step == 0 && (e->type == HEAP_NODE || e->type == HEAP_SLOT)) {
		idmap_expect(&c->node_ids, e->of);
		idmap_expect(e->type == HEAP_NODE ? &c->node_ids : &c->slot_ids, e->id);
	}
	if (e->type != HEAP_COUNTS)
		return;
	if (step == 0) {
		idmap_expect(&c->slots->ids, e->id);
		idmap_expect(&c->slot_ids, e->id);
		return;
	}
	uint32_t slot = columns_slot(c, e->id), placed = c->slots->count;
	if (step == 1)
		columns_expect(c, slot);
	else if (slot < placed)
		__builtin_prefetch(&c->now[c->place_of[slot]], 1);
	else if (slot != NO_ID)
		__builtin_prefetch(&c->slots_came[slot - placed], 1);
}

static int take_all(struct columns *c, const struct heap_batch *b, struct err *err)
{
	enum { STEP = COLUMNS_AHEAD, RING = 4 * STEP };
	struct heap_event list[RING];
	struct heap_batch_at at = { 0 };
	size_t read = 0;

	for (size_t i = 0; i < b->count; i++) {
		for (; read < b->count && read <= i + 3ul * STEP; read++) {
			heap_next(b, &at, &list[read % RING]);
			fetch(c, &list[read % RING], 0);
		}
		if (i + 2ul * STEP < read)
			fetch(c, &list[(i + 2ul * STEP) % RING], 1);
		if (i + STEP < read)
			fetch(c, &list[(i + STEP) % RING], 2);
		if (take(c, &list[i % RING], err))
			return -1;
	}
	return 0;
}

int columns_take(struct columns *c, struct heap_batch *b, struct err *err)
{
	if (b->count)
		go_ahead(c);
	int rc = take_all(c, b, err);
	heap_batch_empty(b, kept(c, 1));
	return rc;
}
