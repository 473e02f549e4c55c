/* SPDX-License-Identifier: MIT
 *
 * test_maker.c - snapshots that a thread makes, under ThreadSanitizer: they equal those made at
 * once, and the thread may end at any time.
 */
#include "check.h"
#include "made.h"
#include "random.h"

#include "base/worker.h"
#include "model/model_state.h"

#include <stdatomic.h>
#include <unistd.h>

#define TICK 100000000ull
#define NODES 400u
#define SLOTS 900u

struct pair {
	struct model *of[2]; /* by a thread; at once */
	uint32_t nodes, slots;
	struct tally counts[SLOTS + 1];
	uint64_t now;
};

#define BOTH(what, ...)                                                                            \
	do {                                                                                       \
		for (int k = 0; k < 2; k++)                                                        \
			what(p->of[k], __VA_ARGS__);                                               \
	} while (0)

static void grow(struct pair *p)
{
	if (p->nodes < NODES && below(3) == 0) {
		uint32_t parent = below(p->nodes + 1);
		p->nodes++;
		BOTH(made_node, p->nodes, parent, 0, p->nodes);
	}
	if (p->nodes && p->slots < SLOTS && below(3) == 0) {
		uint32_t node = 1 + below(p->nodes);
		p->slots++;
		BOTH(made_slot, p->slots, node, 0);
	}
	for (uint32_t n = below(40); p->slots && n; n--) {
		uint32_t s = 1 + below(p->slots);
		struct tally *t = &p->counts[s];
		t->alloc_blocks++;
		t->alloc_bytes += below(5000);
		if (below(2) && live_blocks(t) > 1) {
			t->free_blocks++;
			t->free_bytes += below((uint32_t)live_bytes(t) + 1);
		}
		BOTH(made_counts, s, t->alloc_blocks, t->alloc_bytes, t->free_blocks,
		     t->free_bytes);
	}
	BOTH(made_tick, p->now += TICK, MTW_TICK_COMPLETE);
}

/* As if the last one had taken long, and long ago. */
static void be_due(struct model *m)
{
	m->maker->cost_ns = 1u << 30;
	m->maker->made_ns = 0;
}

static void begin(struct pair *p)
{
	*p = (struct pair){ .now = 0 };
	seed = 5;
	for (int k = 0; k < 2; k++) {
		p->of[k] = model_new();
		made_module(p->of[k], 0, "/bin/made", MTW_MODULE_MAIN);
	}
	model_set_paced(p->of[0], true);
}

static void end(struct pair *p)
{
	for (int k = 0; k < 2; k++)
		model_free(p->of[k]);
}

static void same(const struct heap *a, const struct heap *b)
{
	CHECK_EQ(a->skeleton->nodes, b->skeleton->nodes);
	for (uint32_t i = 0; i < a->skeleton->nodes; i++) {
		struct amounts x = heap_amounts(a, i), y = heap_amounts(b, i);
		CHECK(!memcmp(&x, &y, sizeof x));
	}
}

TEST(a_thread_makes_the_same)
{
	struct pair *p = calloc(1, sizeof *p);
	unsigned made = 0;

	begin(p);
	for (int round = 0; round < 400; round++) {
		grow(p);
		be_due(p->of[0]);
		struct heap *now = model_heap(p->of[1]);
		uint64_t ticks = model_ticks(p->of[0]);
		model_heap(p->of[0]); /* the thread begins */
		if (round % 3)
			continue; /* more comes meanwhile */
		while (p->of[0]->maker->ticks != ticks)
			model_heap(p->of[0]);
		same(model_heap(p->of[0]), now);
		made++;
	}
	CHECK(made > 100 && p->of[0]->maker->worker);
	end(p);
	free(p);
}

TEST(what_users_wait_for_comes_next)
{
	struct pair *p = calloc(1, sizeof *p);

	begin(p);
	for (int round = 0; round < 60; round++) {
		grow(p);
		be_due(p->of[0]);
		model_heap(p->of[0]);
		if (round % 10 != 9)
			continue;
		uint32_t mark = (uint32_t)round / 10 + 1;
		BOTH(made_mark, mark, 0, p->now, 0, "mark");
		BOTH(made_cells_end, mark);
		BOTH(model_set_interval, mark, 0);
		grow(p);
		be_due(p->of[0]);
		model_set_interval(p->of[0], mark, 0);
		/* changes of another interval are never taken for those of this one */
		while (model_heap(p->of[0])->interval != model_intervals(p->of[0]))
			;
		uint64_t ticks = model_ticks(p->of[0]);
		for (be_due(p->of[0]); p->of[0]->maker->ticks != ticks;)
			model_heap(p->of[0]);
		same(model_heap(p->of[0]), model_heap(p->of[1]));
	}
	BOTH(made_tick, p->now += TICK, MTW_TICK_COMPLETE | MTW_TICK_FINAL);
	same(model_heap(p->of[0]), model_heap(p->of[1]));
	end(p);
	free(p);
}

/* A million changes are taken in, in the midst of a tick; snapshots are of whole ticks. */
TEST(what_nobody_looked_at_makes_no_half_tick)
{
	struct pair *p = calloc(1, sizeof *p);
	uint64_t *total = calloc(1u << 16, sizeof *total);
	struct model *m;

	begin(p);
	m = p->of[0];
	made_node(m, 1, 0, 0, 1);
	while (p->slots < SLOTS)
		p->slots++, made_slot(m, p->slots, 1, p->slots);
	made_tick(m, p->now += TICK, 0);
	be_due(m);
	model_heap(m);
	for (uint64_t round = 0; round < 1200; round++) {
		uint64_t sum = 0;
		for (uint32_t s = 1; s <= p->slots; s++) {
			p->counts[s].alloc_blocks++;
			made_counts(m, s, p->counts[s].alloc_blocks, p->counts[s].alloc_bytes,
				    p->counts[s].free_blocks, p->counts[s].free_bytes);
			sum += p->counts[s].alloc_blocks;
		}
		made_tick(m, p->now += TICK, 0); /* no rates: they are taken in at its end */
		total[model_ticks(m)] = sum;
		m->maker->cost_ns = 1ull << 50; /* never due */
		const struct heap *h = model_heap(m);
		CHECK(!total[m->maker->ticks] ||
		      heap_incl(h, 0).alloc_blocks == total[m->maker->ticks]);
	}
	be_due(m);
	model_heap(m);
	while (m->maker->ticks != model_ticks(m))
		model_heap(m);
	CHECK_EQ(heap_incl(model_heap(m), 0).alloc_blocks, total[model_ticks(m)]);
	end(p);
	free(total);
	free(p);
}

TEST(the_thread_ends_with_work_under_way)
{
	struct pair *p = calloc(1, sizeof *p);

	for (int round = 0; round < 1000; round++) {
		begin(p);
		grow(p);
		model_heap(p->of[0]);
		grow(p);
		be_due(p->of[0]);
		model_heap(p->of[0]);
		if (round % 4 == 0)
			model_clear(p->of[0]);
		end(p);
	}
	free(p);
}

/* The thread finds it, and a later event says so; what is shown stays as it was. */
TEST(a_contradiction_is_told_by_a_later_event)
{
	struct pair *p = calloc(1, sizeof *p);
	struct event counts = { .type = MTW_COUNTS }, tick = { .type = MTW_TICK };
	struct err err = { 0 };
	int rc = 0;

	begin(p);
	struct model *m = p->of[0];
	for (int round = 0; round < 50 || !p->counts[1].alloc_blocks; round++)
		grow(p);
	model_heap(m);
	grow(p);
	be_due(m);
	model_heap(m);
	while (m->maker->ticks != model_ticks(m))
		model_heap(m);
	uint64_t live = heap_incl(model_heap(m), 0).alloc_bytes;
	counts.u.counts.slot = 1;
	CHECK_EQ(model_apply(m, &counts, &err), 0); /* they shrink */
	for (int i = 0; !rc && i < 100000; i++) {
		tick.u.tick.time_ns = p->now += TICK;
		rc = model_apply(m, &tick, &err);
		be_due(m);
		model_heap(m);
	}
	CHECK_EQ(rc, -1);
	CHECK_STR(err.text, "stream: counters of slot 1 shrink; connect again");
	CHECK_EQ(heap_incl(model_heap(m), 0).alloc_bytes, live);
	end(p);
	free(p);
}

/* The thread works until the gate is open. */
static atomic_bool gate;

static void work_on(void *arg)
{
	(void)arg;
	while (!gate)
		usleep(100);
}

static void hold_thread(struct model *m)
{
	gate = false;
	worker_begin(m->maker->worker, work_on, NULL);
}

static void let_go(struct model *m)
{
	gate = true;
	while (worker_busy(m->maker->worker))
		usleep(100);
}

/* Until the thread is there, and what is shown is of the last tick. */
static void catch_up(struct model *m)
{
	be_due(m);
	while (!m->maker->worker || m->maker->ticks != model_ticks(m))
		model_heap(m);
}

/* A view of a program with one slot; the thread has nothing to do. */
static struct pair *one_slot(void)
{
	struct pair *p = calloc(1, sizeof *p);

	begin(p);
	struct model *m = p->of[0];
	made_node(m, 1, 0, 0, 1);
	made_slot(m, 1, 1, 0);
	made_tick(m, p->now += TICK, 0);
	model_heap(m);
	made_tick(m, p->now += TICK, 0);
	catch_up(m);
	return p;
}

/* A while, and no longer: the main thread waits for it. */
static void work_a_while(void *arg)
{
	(void)arg;
	usleep(300000);
}

/* A machine has no time for the thread: what waits for it does not grow without end. */
TEST(what_waits_for_the_thread_is_bounded)
{
	enum { EVENTS = 600000 };
	struct pair *p = one_slot();
	struct model *m = p->of[0];

	worker_begin(m->maker->worker, work_a_while, NULL);
	for (uint64_t i = 1; i <= EVENTS; i++)
		made_counts(m, 1, i, i, 0, 0);
	CHECK(m->maker->coming.count < EVENTS);
	made_tick(m, p->now += TICK, 0);
	catch_up(m);
	CHECK_EQ(heap_incl(model_heap(m), 0).alloc_blocks, EVENTS);
	end(p);
	free(p);
}

/* No event follows the last tick, so it is told with that, whatever the thread does. */
TEST(the_last_tick_tells_a_contradiction)
{
	struct pair *p = calloc(1, sizeof *p);
	struct event counts = { .type = MTW_COUNTS },
		     tick = { .type = MTW_TICK,
			      .u.tick.flags = MTW_TICK_COMPLETE | MTW_TICK_FINAL };
	struct err err = { 0 };

	begin(p);
	struct model *m = p->of[0];
	for (int round = 0; round < 50 || !p->counts[1].alloc_blocks; round++)
		grow(p);
	model_heap(m);
	grow(p);
	catch_up(m);
	worker_begin(m->maker->worker, work_a_while, NULL);
	counts.u.counts.slot = 1;
	CHECK_EQ(model_apply(m, &counts, &err), 0); /* they shrink */
	tick.u.tick.time_ns = p->now += TICK;
	CHECK_EQ(model_apply(m, &tick, &err), -1);
	CHECK_STR(err.text, "stream: counters of slot 1 shrink; connect again");
	CHECK(!model_final(m));
	end(p);
	free(p);
}

/* A link that reads no more while the model is full never waits for the thread. */
TEST(full_until_the_thread_is_done)
{
	struct pair *p = one_slot();
	struct model *m = p->of[0];
	uint64_t n = 0;

	CHECK(maker_settled(m) && !model_full(m));
	hold_thread(m);
	CHECK(!model_full(m));
	for (; !model_full(m); n++)
		made_counts(m, 1, n + 1, n + 1, 0, 0);
	CHECK_EQ(m->maker->coming.count, n);
	let_go(m);
	CHECK(!model_full(m));

	/* who wants all of it in the columns: full until it is */
	while (!maker_settled(m))
		usleep(100);
	hold_thread(m);
	made_counts(m, 1, n + 1, n + 1, 0, 0);
	CHECK(!model_full(m) && !maker_settled(m) && model_full(m));
	let_go(m);
	while (!maker_settled(m))
		usleep(100);
	CHECK(!m->maker->coming.count && !worker_busy(m->maker->worker));
	CHECK_EQ(columns_now(&m->maker->columns, 0).alloc_blocks, n + 1);
	end(p);
	free(p);
}

/* Under load the thread always has something to take: who looked meanwhile still gets a snapshot.
 */
TEST(who_looked_at_a_busy_thread_gets_a_snapshot)
{
	struct pair *p = one_slot();
	struct model *m = p->of[0];

	hold_thread(m);
	made_tick(m, p->now += TICK, 0);
	be_due(m);
	model_heap(m); /* not now */
	let_go(m);
	for (uint64_t i = 1; i <= 70000; i++)
		made_counts(m, 1, i, i, 0, 0);
	while (worker_busy(m->maker->worker))
		usleep(100);
	CHECK(m->maker->made != NULL);
	end(p);
	free(p);
}
