/* SPDX-License-Identifier: MIT
 *
 * columns.c - keeps the columns beside the model: they are made when somebody first asks for a
 * snapshot. What each tick changes is gathered, and taken in with the next snapshot.
 *
 * A large snapshot of a view is made by a thread (heap/maker.h); until it is there, the last one
 * stays. What users wait for is made at once: the first one, the first whole state, the last one,
 * another interval, another program.
 */
#include "model/columns.h"
#include "heap/maker.h"
#include "heap/room.h"
#include "model/internal.h"

#include <stdlib.h>

#define LONG_NS 4000000u /* what takes longer is the thread's */
#define PACE_COSTS 3     /* so many times what the last one took until the next */
#define MANY (1u << 20)  /* changes that nobody looked at are taken in */

static void put_count(struct heap_batch *b, const struct trie *t, uint32_t slot)
{
	const struct slot *s = slot_at(t, slot);

	GROW(b->counts, b->count_room, b->count_count + 1);
	/* A stack that has ever held estimates has them for good; the model keeps that by node. */
	b->counts[b->count_count++] =
		(struct batch_count){ slot, node_at(t, s->node)->self_estimate, s->now };
}

/* Nodes and slots that came since. */
static void put_new(struct heap_batch *b, const struct trie *t, uint32_t *nodes, uint32_t *slots)
{
	GROW(b->nodes, b->node_room, b->node_count + t->node_count - *nodes);
	for (; *nodes < t->node_count; ++*nodes) {
		const struct node *n = node_at(t, *nodes);
		b->nodes[b->node_count++] =
			(struct arrival){ n->parent, n->location, n->id, n->by_pointer };
	}
	GROW(b->slots, b->slot_room, b->slot_count + t->slot_count - *slots);
	for (; *slots < t->slot_count; ++*slots) {
		const struct slot *s = slot_at(t, *slots);
		b->slots[b->slot_count++] = (struct slot_arrival){ s->node, s->epoch };
		put_count(b, t, *slots);
	}
}

void model_columns(const struct model *m, struct columns *c)
{
	struct heap_batch b = { 0 };
	uint32_t nodes = 1, slots = 0;

	columns_init(c);
	put_new(&b, &m->trie, &nodes, &slots);
	columns_take(c, &b);
	heap_batch_release(&b);
}

/* --- what ticks change */

/* Nobody may look for long. */
static void take_many(struct model *m)
{
	struct snapshot *s = &m->snapshot;

	if ((s->maker && maker_busy(s->maker)) ||
	    s->coming.count_count + s->coming.rate_count < MANY)
		return;
	put_new(&s->coming, &m->trie, &s->nodes, &s->slots);
	columns_take(s->columns, &s->coming);
}

void columns_follow(struct model *m, uint32_t slot)
{
	struct snapshot *s = &m->snapshot;

	if (!s->columns || slot >= s->slots)
		return;
	put_count(&s->coming, &m->trie, slot);
	if (s->coming.count_count % MANY == 0)
		take_many(m);
}

static void put_rate(struct heap_batch *b, uint32_t slot, const struct rate *r)
{
	GROW(b->rates, b->rate_room, b->rate_count + 1);
	b->rates[b->rate_count++] =
		(struct rate_entry){ r->bytes, r->freed, (uint32_t)r->blocks, slot };
}

void columns_rate(struct model *m, uint32_t slot, const struct rate *rate)
{
	if (m->snapshot.columns && rate_any(rate))
		put_rate(&m->snapshot.coming, slot, rate);
}

void columns_expire(struct model *m, struct rate_entry *entries, size_t count)
{
	struct heap_batch *b = &m->snapshot.coming;

	if (!m->snapshot.columns || !count) {
		free(entries);
		return;
	}
	GROW(b->expired, b->expired_room, b->expired_count + 1);
	b->expired[b->expired_count++] = (struct batch_expired){ entries, count };
	take_many(m);
}

/* --- snapshots */

static void drop_heap(struct snapshot *s, struct heap *h)
{
	heap_drop(s->heap);
	s->heap = h;
}

void columns_forget(struct model *m)
{
	struct snapshot *s = &m->snapshot;

	maker_free(s->maker);
	s->maker = NULL;
	drop_heap(s, NULL);
	heap_batch_release(&s->given);
	heap_batch_release(&s->coming);
	if (s->columns)
		columns_release(s->columns);
	free(s->columns);
	s->columns = NULL;
	s->based = false;
}

/* All that the model has. */
static void begin(struct model *m)
{
	struct snapshot *s = &m->snapshot;

	s->columns = xmalloc(sizeof *s->columns);
	columns_init(s->columns);
	s->nodes = 1;
	s->slots = 0;
	put_new(&s->coming, &m->trie, &s->nodes, &s->slots);
	for (size_t i = 0; i < m->rates.count; i++) {
		const struct rate_part *p = rates_part(&m->rates, i);
		for (size_t k = 0; k < p->count; k++) {
			const struct rate_entry *e = &p->entries[k];
			put_rate(&s->coming, e->slot,
				 &(struct rate){ e->bytes, e->blocks, e->freed });
		}
	}
}

/* The live amounts at the interval's ends. */
static void take_base(struct model *m, struct columns *c)
{
	struct snapshot *s = &m->snapshot;

	if (s->based && s->interval == m->interval.generation)
		return;
	free(c->base.from);
	free(c->base.until);
	c->base = (struct base){ 0 };
	s->based = true;
	s->interval = m->interval.generation;
	if (m->interval.base)
		c->base.from = model_live_at(m, c, m->interval.base);
	if (m->interval.until)
		c->base.until = model_live_at(m, c, m->interval.until);
}

/* What the maker has made. */
static void take_made(struct model *m)
{
	struct snapshot *s = &m->snapshot;
	struct heap *h = s->maker ? maker_take(s->maker) : NULL;

	if (!h)
		return;
	drop_heap(s, h);
	s->ticks = s->given_ticks;
	s->cost_ns = maker_cost(s->maker);
	s->made_ns = now_ns();
}

static void make_at_once(struct model *m)
{
	struct snapshot *s = &m->snapshot;
	uint64_t began = now_ns();

	take_made(m);
	if (!s->columns)
		begin(m);
	put_new(&s->coming, &m->trie, &s->nodes, &s->slots);
	columns_take(s->columns, &s->coming);
	take_base(m, s->columns);
	bool changes = m->interval.base || m->interval.until;
	drop_heap(s, heap_new(s->columns, changes ? &s->columns->base : NULL));
	s->ticks = m->ticks;
	s->resets = m->resets;
	s->complete = m->complete;
	s->made_ns = now_ns();
	s->cost_ns = s->made_ns - began;
}

void model_set_paced(struct model *m, bool on)
{
	m->snapshot.paced = on;
}

const struct columns *model_ranked(const struct model *of, const uint32_t *rank, uint32_t ranks)
{
	struct model *m = (struct model *)of;
	struct snapshot *s = &m->snapshot;

	make_at_once(m);
	columns_rank(s->columns, rank, ranks);
	make_at_once(m);
	return s->columns;
}

/* In a forked child there is no maker, and what it had may be half done. */
void model_forked(struct model *m)
{
	room_forked();
	m->snapshot = (struct snapshot){ .paced = false };
}

static bool must_not_wait(const struct model *m)
{
	const struct snapshot *s = &m->snapshot;

	return !s->heap || !s->paced || s->interval != m->interval.generation ||
	       s->resets != m->resets || s->complete != m->complete || m->final ||
	       s->cost_ns < LONG_NS;
}

static bool is_due(const struct model *m)
{
	const struct snapshot *s = &m->snapshot;

	return now_ns() - s->made_ns >= PACE_COSTS * s->cost_ns;
}

static void begin_to_make(struct model *m)
{
	struct snapshot *s = &m->snapshot;
	struct heap_batch empty = s->given;

	put_new(&s->coming, &m->trie, &s->nodes, &s->slots);
	s->given = s->coming;
	s->coming = empty;
	s->given_ticks = m->ticks;
	maker_begin(s->maker, s->columns, &s->given);
}

bool model_behind(const struct model *m)
{
	const struct snapshot *s = &m->snapshot;

	if (!s->heap || s->ticks == m->ticks)
		return false;
	if (s->maker && maker_busy(s->maker))
		return false;
	return must_not_wait(m) || is_due(m) || (s->maker && s->given_ticks != s->ticks);
}

struct heap *model_heap(const struct model *of)
{
	struct model *m = (struct model *)of; /* what it keeps does not change what it says */
	struct snapshot *s = &m->snapshot;

	if (s->heap && s->ticks == m->ticks && s->resets == m->resets &&
	    s->interval == m->interval.generation)
		return s->heap;
	if (!must_not_wait(m) && !s->maker)
		s->maker = maker_new();
	if (must_not_wait(m) || !s->maker) {
		make_at_once(m);
		return s->heap;
	}
	if (maker_busy(s->maker))
		return s->heap;
	take_made(m);
	if (s->ticks != m->ticks && is_due(m))
		begin_to_make(m);
	return s->heap;
}

static bool go_on(void *arg, uint32_t mark, const struct slot *s, const struct live *was,
		  const struct live *is)
{
	(void)arg, (void)mark, (void)s, (void)was, (void)is;
	return true;
}

struct live *model_live_at(const struct model *m, const struct columns *c, uint32_t mark)
{
	struct mark_walk w = { 0 };

	if (!model_mark_says(m, mark))
		return NULL;
	struct live *held = xcalloc(c->slots + 1ul, sizeof *held);
	if (mark)
		mark_walk(m, &w, mark, go_on, NULL);
	for (uint32_t s = 0; s < w.slots && s < c->slots; s++)
		held[c->place_of[s]] = w.held[s];
	mark_walk_end(&w);
	return held;
}
