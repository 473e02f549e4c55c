/* SPDX-License-Identifier: MIT
 *
 * columns.c - keeps the columns beside the model: they are made when somebody first asks for a
 * snapshot. What each tick changes is gathered, and taken in with the next snapshot.
 *
 * A large snapshot of a view is made by a thread (base/worker.h); until it is there, the last one
 * stays. What users wait for is made at once: the first one, the first whole state, the last one,
 * another program.
 */
#include "model/columns.h"
#include "base/worker.h"
#include "heap/room.h"
#include "model/internal.h"

#include <stdlib.h>

#define PACE_COSTS 3    /* so many times what the last one took until the next */
#define MANY (1u << 20) /* changes that nobody looked at are taken in */

static void put_count(struct heap_batch *b, const struct slot *s, uint32_t slot, bool weighed)
{
	GROW(b->counts, b->count_room, b->count_count + 1);
	b->counts[b->count_count++] = (struct batch_count){ slot, weighed, s->now };
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
		/* A stack that has ever held estimates has them for good. */
		put_count(b, s, *slots, node_at(t, s->node)->self_estimate);
	}
}

static void put_rate(struct heap_batch *b, uint32_t slot, const struct rate *r)
{
	GROW(b->rates, b->rate_room, b->rate_count + 1);
	b->rates[b->rate_count++] =
		(struct rate_entry){ r->bytes, r->freed, (uint32_t)r->blocks, slot };
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

static void drop_heap(struct snapshot *s, struct heap *h)
{
	heap_drop(s->heap);
	s->heap = h;
}

void columns_forget(struct model *m)
{
	struct snapshot *s = &m->snapshot;

	worker_free(s->maker);
	s->maker = NULL;
	drop_heap(s, NULL);
	heap_drop(s->made);
	s->made = NULL;
	heap_batch_release(&s->given);
	heap_batch_release(&s->coming);
	free(s->from.live);
	free(s->until.live);
	s->from = s->until = (struct base_held){ 0 };
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

/* --- the base: what slots held at the interval's ends */

static bool go_on(void *arg, uint32_t mark, const struct slot *s, const struct live *was,
		  const struct live *is)
{
	(void)arg, (void)mark, (void)s, (void)was, (void)is;
	return true;
}

static struct base_held held_at(const struct model *m, uint32_t mark)
{
	struct mark_walk w = { 0 };

	if (!mark || !model_mark_says(m, mark))
		return (struct base_held){ .none = mark != 0 };
	mark_walk(m, &w, mark, go_on, NULL);
	struct base_held h = { .live = w.held, .slots = w.slots };
	w.held = NULL;
	mark_walk_end(&w);
	return h;
}

/* By place; takes what it is of. The start held nothing. */
static struct live *placed(const struct columns *c, struct base_held *h)
{
	struct live *live = h->none ? NULL : xcalloc(c->slots + 1ul, sizeof *live);

	for (uint32_t s = 0; s < h->slots && s < c->slots; s++)
		live[c->place_of[s]] = h->live[s];
	free(h->live);
	*h = (struct base_held){ .none = true };
	return live;
}

struct live *model_live_at(const struct model *m, const struct columns *c, uint32_t mark)
{
	struct base_held h = held_at(m, mark);

	return placed(c, &h);
}

/* On the main thread, since marks come there. */
static void ask_for_heap(struct model *m)
{
	struct snapshot *s = &m->snapshot;

	s->given_ticks = m->ticks;
	if (s->based && s->given_interval == m->interval.generation)
		return;
	s->based = s->rebase = true;
	s->given_interval = m->interval.generation;
	s->from = s->until = (struct base_held){ .none = true };
	if (m->interval.base)
		s->from = held_at(m, m->interval.base);
	if (m->interval.until)
		s->until = held_at(m, m->interval.until);
	s->changes = m->interval.base || m->interval.until;
}

/* --- snapshots */

/* Any thread. */
static void make(void *arg)
{
	struct snapshot *s = arg;
	struct columns *c = s->columns;

	columns_take(c, &s->given);
	if (s->rebase) {
		free(c->base.from);
		free(c->base.until);
		c->base.from = placed(c, &s->from);
		c->base.until = placed(c, &s->until);
		s->rebase = false;
	}
	s->made = heap_new(c, s->changes ? &c->base : NULL);
	s->made->interval = s->given_interval;
}

/* Without a snapshot: it may be the midst of a tick. Any thread. */
static void absorb(void *arg)
{
	struct snapshot *s = arg;

	columns_take(s->columns, &s->given);
}

static void give(struct model *m)
{
	struct snapshot *s = &m->snapshot;
	struct heap_batch empty = s->given;

	put_new(&s->coming, &m->trie, &s->nodes, &s->slots);
	s->given = s->coming;
	s->coming = empty;
}

static void take(struct model *m, uint64_t cost_ns)
{
	struct snapshot *s = &m->snapshot;

	if (!s->made)
		return; /* the job was absorb(): the last snapshot stays */
	drop_heap(s, s->made);
	s->made = NULL;
	s->ticks = s->given_ticks;
	s->cost_ns = cost_ns;
	s->made_ns = now_ns();
}

/* What the maker has made. */
static void take_made(struct model *m)
{
	if (worker_wait(m->snapshot.maker))
		take(m, worker_cost(m->snapshot.maker));
}

static void make_at_once(struct model *m)
{
	struct snapshot *s = &m->snapshot;
	uint64_t began = now_ns();

	take_made(m);
	if (!s->columns)
		begin(m);
	give(m);
	ask_for_heap(m);
	make(s);
	take(m, now_ns() - began);
	s->resets = m->resets;
	s->complete = m->complete;
}

static void begin_to_make(struct model *m)
{
	give(m);
	ask_for_heap(m);
	worker_begin(m->snapshot.maker, make, &m->snapshot);
}

void model_set_paced(struct model *m, bool on)
{
	m->snapshot.paced = on;
}

bool model_paced(const struct model *m)
{
	return m->snapshot.paced;
}

uint64_t model_awaited(const struct model *m)
{
	return m->snapshot.awaited;
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

static bool is_awaited(const struct model *m)
{
	const struct snapshot *s = &m->snapshot;

	return !s->heap || !s->paced || s->resets != m->resets || s->complete != m->complete ||
	       m->final;
}

static bool must_not_wait(const struct model *m)
{
	return is_awaited(m) || m->snapshot.cost_ns < WORKER_LONG_NS;
}

static bool is_due(const struct model *m)
{
	const struct snapshot *s = &m->snapshot;

	return s->heap->interval != m->interval.generation ||
	       now_ns() - s->made_ns >= PACE_COSTS * s->cost_ns;
}

static bool stands(const struct model *m)
{
	const struct snapshot *s = &m->snapshot;

	return s->heap && s->ticks == m->ticks && s->heap->interval == m->interval.generation;
}

bool model_behind(const struct model *m)
{
	const struct snapshot *s = &m->snapshot;

	if (!s->heap || stands(m))
		return false;
	if (worker_busy(s->maker))
		return false;
	return must_not_wait(m) || is_due(m) || (s->maker && s->given_ticks != s->ticks);
}

struct heap *model_heap(const struct model *of)
{
	struct model *m = (struct model *)of; /* what it keeps does not change what it says */
	struct snapshot *s = &m->snapshot;

	if (stands(m) && s->resets == m->resets)
		return s->heap;
	if (!must_not_wait(m) && !s->maker)
		s->maker = worker_new();
	if (must_not_wait(m) || !s->maker) {
		s->awaited += is_awaited(m);
		make_at_once(m);
		return s->heap;
	}
	if (worker_busy(s->maker))
		return s->heap;
	take_made(m);
	if (!stands(m) && is_due(m))
		begin_to_make(m);
	return s->heap;
}

/* --- what ticks change */

/* Nobody may look for long. */
static void take_many(struct model *m)
{
	struct snapshot *s = &m->snapshot;

	if (worker_busy(s->maker) || s->coming.count_count + s->coming.rate_count < MANY)
		return;
	if (s->maker) {
		take_made(m);
		give(m);
		worker_begin(s->maker, absorb, s);
		return;
	}
	put_new(&s->coming, &m->trie, &s->nodes, &s->slots);
	columns_take(s->columns, &s->coming);
}

void columns_follow(struct model *m, uint32_t slot)
{
	struct snapshot *s = &m->snapshot;

	if (!s->columns || slot >= s->slots)
		return;
	const struct slot *of = slot_at(&m->trie, slot);
	put_count(&s->coming, of, slot, slot_is_estimate(of, &of->now));
	if (s->coming.count_count % MANY == 0)
		take_many(m);
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
