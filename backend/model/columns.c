/* SPDX-License-Identifier: MIT
 *
 * columns.c - follows the session with the columns, and makes snapshots of them.
 *
 * A large snapshot of a view is made by a thread (base/worker.h), which takes what came since into
 * the columns first; until it is there, the last one stays. What users wait for is made at once:
 * the first one, and that of another program.
 */
#include "model/columns.h"
#include "base/worker.h"
#include "heap/room.h"
#include "model/model_state.h"

#include <stdlib.h>

#define PACE_COSTS 3    /* so many times what the last one took until the next */
#define MANY 65536u     /* events that a worker takes although nobody looks */
#define FULL (1u << 17) /* that may wait while a worker is busy: model_full() */
#define MOST (1u << 19) /* ... of somebody who does not heed that */
#define BATCH 2048u     /* that are taken together: slots lie anywhere in memory */

static void drop_heap(struct maker *s, struct heap *h)
{
	heap_drop(s->heap);
	s->heap = h;
}

void maker_init(struct model *m)
{
	struct maker *s = m->maker = m->maker ? m->maker : xcalloc(1, sizeof *m->maker);

	*s = (struct maker){ .paced = s->paced, .awaited = s->awaited };
	columns_init(&s->columns);
}

void maker_release(struct model *m)
{
	struct maker *s = m->maker;

	worker_free(s->worker);
	s->worker = NULL;
	drop_heap(s, NULL);
	heap_drop(s->made);
	heap_batch_release(&s->given);
	heap_batch_release(&s->coming);
	mark_chain_drop(&s->from);
	mark_chain_drop(&s->until);
	mark_chain_drop(&s->since);
	columns_release(&s->columns);
}

/* By place; takes what is by order of arrival. NULL stays. */
static struct live_list placed(const struct columns *c, struct live *by_arrival)
{
	struct live_list held = { 0 };

	if (by_arrival)
		held.list = room_large(c->slots->count + 1ul, sizeof *held.list);
	for (uint32_t a = 0; by_arrival && a < c->slots->count; a++)
		live_list_put(&held, c->place_of[a], by_arrival[a]);
	free(by_arrival);
	return held;
}

struct live_list model_live_at(const struct model *m, const struct columns *c, uint32_t mark)
{
	return placed(c, model_held_at(m, c->slots, mark));
}

/* Nothing, if nothing is in the chain. */
static struct live_list take_chain(const struct columns *c, struct mark_chain *x)
{
	struct live_list held = placed(c, x->count ? mark_chain_live(x, c->slots) : NULL);

	mark_chain_drop(x);
	return held;
}

static void take_given(struct maker *s)
{
	if (s->failed)
		heap_batch_empty(&s->given, 0); /* what follows makes no sense */
	else
		s->failed = columns_take(&s->columns, &s->given, &s->err) != 0;
}

/* Takes the chain. */
static void count_since(struct heap *h, const struct columns *c, struct mark_chain *x)
{
	struct live *held = mark_chain_live(x, c->slots);

	for (uint32_t a = 0; a < c->slots->count; a++) {
		struct tally t = columns_now(c, a);
		struct live was = held[a], is = live_of(&t);
		struct change one = change_between(was.blocks, was.bytes, is.blocks, is.bytes);
		change_add(&h->since, &one);
	}
	free(held);
	mark_chain_drop(x);
}

/* Any thread. */
static void make(void *arg)
{
	struct maker *s = arg;
	struct columns *c = &s->columns;

	take_given(s);
	columns_settle(c);
	columns_rest(c);
	if (s->rebase) {
		live_list_release(&c->base.from);
		live_list_release(&c->base.until);
		c->base.from = take_chain(c, &s->from);
		c->base.until = take_chain(c, &s->until);
		s->rebase = false;
	}
	s->made = heap_new(c, s->changes ? &c->base : NULL);
	s->made->interval = s->given_interval;
	if (s->since.count)
		count_since(s->made, c, &s->since);
	s->made->since_of = s->given_since;
}

/* Without a snapshot: it may be the midst of a tick. Any thread. */
static void absorb(void *arg)
{
	take_given(arg);
}

/* What the columns say that the model keeps beside. */
static void hear(struct model *m)
{
	const struct columns *c = &m->maker->columns;

	m->sampled_epoch = c->sampled_epoch;
	m->estimated = c->estimated;
	m->inherited = c->inherited;
	if (m->maker->failed)
		m->peak.whole = c->peak.whole;
}

static void give(struct maker *s)
{
	struct heap_batch empty = s->given;

	s->given = s->coming;
	s->coming = empty;
}

static void take(struct model *m, uint64_t cost_ns)
{
	struct maker *s = m->maker;

	hear(m);
	if (!s->made) { /* the job was absorb(): the last snapshot stays */
		s->cost_ns = cost_ns > s->cost_ns ? cost_ns : s->cost_ns;
		return;
	}
	drop_heap(s, s->made);
	s->made = NULL;
	s->ticks = s->given_ticks;
	s->complete = s->given_complete;
	s->cost_ns = cost_ns;
	s->made_ns = now_ns();
}

/* What the worker has made. */
static void take_made(struct model *m)
{
	m->maker->settling = false;
	if (worker_wait(m->maker->worker))
		take(m, worker_cost(m->maker->worker));
}

static int say_failure(struct maker *s, struct err *err)
{
	if (!s->failed)
		return 0;
	s->failed = false;
	heap_batch_empty(&s->coming, 0);
	*err = s->err;
	return -1;
}

/* All that came, by this thread. */
static void take_in_line(struct model *m)
{
	take_made(m);
	give(m->maker);
	take_given(m->maker);
	hear(m);
}

int maker_take(struct model *m, struct err *err)
{
	struct maker *s = m->maker;

	if (!s->worker)
		take_in_line(m);
	else if (!worker_busy(s->worker))
		take_made(m);
	return worker_busy(s->worker) ? 0 : say_failure(s, err);
}

int model_catch_up(struct model *m, struct err *err)
{
	take_in_line(m);
	return say_failure(m->maker, err);
}

bool maker_settled(struct model *m)
{
	struct maker *s = m->maker;

	if (m->read_end) /* another thread reads what would change */
		return false;
	if (!s->worker) {
		take_in_line(m);
		return !s->failed;
	}
	if ((s->settling = worker_busy(s->worker)))
		return false;
	take_made(m);
	if ((s->settling = s->coming.count > 0)) {
		give(s);
		worker_begin(s->worker, absorb, s);
	}
	return !s->settling && !s->failed;
}

bool model_full(const struct model *m)
{
	const struct maker *s = m->maker;

	return (s->settling || s->coming.count >= FULL) && worker_busy(s->worker);
}

static void ask_for_heap(struct model *m)
{
	struct maker *s = m->maker;

	s->given_ticks = m->ticks;
	s->given_complete = m->complete;
	s->given_since = model_mark_says(m, s->since_of) ? s->since_of : 0;
	mark_chain_drop(&s->since);
	if ((s->since_of = s->given_since))
		s->since = mark_chain(m, s->since_of);
	if (s->based && s->given_interval == m->interval.generation)
		return;
	s->based = s->rebase = true;
	s->given_interval = m->interval.generation;
	s->changes = m->interval.base || m->interval.until;
	mark_chain_drop(&s->from);
	mark_chain_drop(&s->until);
	if (m->interval.base)
		s->from = mark_chain(m, m->interval.base);
	if (m->interval.until)
		s->until = mark_chain(m, m->interval.until);
}

static void make_at_once(struct model *m)
{
	struct maker *s = m->maker;
	uint64_t began = now_ns();

	take_made(m);
	give(s);
	ask_for_heap(m);
	make(s);
	take(m, now_ns() - began);
	s->resets = m->resets;
}

static void begin_to_make(struct model *m)
{
	m->maker->wanted = false;
	give(m->maker);
	ask_for_heap(m);
	worker_begin(m->maker->worker, make, m->maker);
}

void model_set_paced(struct model *m, bool on)
{
	m->maker->paced = on;
}

bool model_paced(const struct model *m)
{
	return m->maker->paced;
}

uint64_t model_awaited(const struct model *m)
{
	return m->maker->awaited;
}

void model_count_since(struct model *m, uint32_t mark)
{
	m->maker->since_of = mark;
}

const struct columns *model_columns(const struct model *of)
{
	struct model *m = (struct model *)of; /* what waits does not change what it says */

	model_mine(m);
	take_in_line(m);
	columns_settle(&m->maker->columns);
	columns_rest(&m->maker->columns);
	return &m->maker->columns;
}

const struct columns *model_ranked(const struct model *of, const uint32_t *rank, uint32_t ranks)
{
	struct model *m = (struct model *)of;
	struct maker *s = m->maker;

	model_columns(m);
	drop_heap(s, NULL); /* nothing but the old tree is in it */
	columns_rank(&s->columns, rank, ranks);
	make_at_once(m);
	return &s->columns;
}

/* In a forked child there is no worker; it had nothing to do: model_columns(). */
void model_forked(struct model *m)
{
	m->maker->worker = NULL;
	m->maker->paced = false;
}

static bool is_awaited(const struct model *m)
{
	const struct maker *s = m->maker;

	return !s->heap || !s->paced || s->resets != m->resets;
}

static bool must_not_wait(const struct model *m)
{
	return is_awaited(m) || m->maker->cost_ns < WORKER_LONG_NS;
}

/* The first whole state, the last one and another interval come without a pause. */
static bool is_due(const struct model *m)
{
	const struct maker *s = m->maker;

	return s->complete != m->complete || m->final ||
	       s->heap->interval != m->interval.generation ||
	       now_ns() - s->made_ns >= PACE_COSTS * s->cost_ns;
}

static bool stands(const struct model *m)
{
	const struct maker *s = m->maker;

	return s->heap && s->ticks == m->ticks && s->heap->interval == m->interval.generation &&
	       (!s->since_of || s->heap->since_of == s->since_of);
}

bool model_behind(const struct model *m)
{
	const struct maker *s = m->maker;

	if (!s->heap || stands(m))
		return false;
	if (worker_busy(s->worker))
		return false;
	return must_not_wait(m) || is_due(m) || (s->worker && s->given_ticks != s->ticks);
}

struct heap *model_heap(const struct model *of)
{
	struct model *m = (struct model *)of; /* what it keeps does not change what it says */
	struct maker *s = m->maker;

	if (s->heap && m->read_end)
		return s->heap; /* another thread reads what would change */
	if (s->heap && stands(m) && s->resets == m->resets)
		return s->heap;
	if (!must_not_wait(m) && !s->worker)
		s->worker = worker_new();
	if (must_not_wait(m) || !s->worker) {
		s->awaited += is_awaited(m);
		make_at_once(m);
		return s->heap;
	}
	if ((s->wanted = worker_busy(s->worker)))
		return s->heap;
	take_made(m);
	if (!stands(m) && is_due(m))
		begin_to_make(m);
	return s->heap;
}

/* A snapshot that somebody waits for comes before work without one, or a busy thread has none. */
static void begin_job(struct model *m)
{
	struct maker *s = m->maker;

	take_made(m);
	if (s->wanted && is_due(m)) {
		begin_to_make(m);
	} else {
		give(s);
		worker_begin(s->worker, absorb, s);
	}
}

int maker_put(struct model *m, const struct heap_event *e, struct err *err)
{
	struct maker *s = m->maker;

	heap_put(&s->coming, e);
	if (!s->worker && s->coming.count >= BATCH)
		return maker_take(m, err);
	if (s->worker && s->coming.count >= MANY &&
	    (s->coming.count >= MOST || !worker_busy(s->worker)))
		begin_job(m); /* the last resort: it waits */
	return 0;
}
