/* SPDX-License-Identifier: MIT
 *
 * test_bulk.c - two models get the same random session, one of them in bulk: at the end they are
 * the same in every figure, and stay so when the session goes on.
 */
#include "check.h"
#include "made.h"
#include "random.h"

#define MS 1000000ull
#define NODES 80u
#define SLOTS 300u
#define MARKS 6u

struct pair {
	struct model *of[2]; /* tick by tick, in bulk */
	struct tally slot[SLOTS + 1], total;
	uint32_t nodes, slots, marks, reconnects;
	uint64_t epoch, time, epoch_of[MARKS + 1];
};

#define BOTH(call, ...)                                                                            \
	do {                                                                                       \
		for (int both = 0; both < 2; both++)                                               \
			call(p->of[both], __VA_ARGS__);                                            \
	} while (0)

static void hello(struct model *m, uint32_t pid)
{
	struct event e = { .type = MTW_HELLO };

	e.u.hello.pid = pid;
	e.u.hello.exe = e.u.hello.arch = made_text("x");
	e.u.hello.agent_version = e.u.hello.options = made_text("");
	made_apply(m, &e);
}

static void add_paths(struct pair *p)
{
	while (p->nodes < NODES && below(3)) {
		uint32_t id = ++p->nodes, parent = below(id);
		BOTH(made_node, id, parent, 0, id * 16);
	}
	while (p->nodes && p->slots < SLOTS && below(3)) {
		uint32_t id = ++p->slots, node = 1 + below(p->nodes);
		bool sampled = below(6) == 0;
		BOTH(made_slot, id, node, p->epoch);
		if (sampled)
			BOTH(made_weighed, id, 512);
	}
}

static void count(struct pair *p, uint32_t slot)
{
	struct tally *t = &p->slot[slot], grown = { below(9), below(5000), 0, 0 };

	if (below(2) && live_blocks(t) && live_bytes(t)) {
		grown.free_blocks = 1 + below((uint32_t)live_blocks(t));
		grown.free_bytes = 1 + below((uint32_t)live_bytes(t));
	}
	tally_add(t, &grown);
	tally_add(&p->total, &grown);
	BOTH(made_counts, slot, t->alloc_blocks, t->alloc_bytes, t->free_blocks, t->free_bytes);
}

/* Some slots come twice in a tick; ticks are of any length. */
static void step(struct pair *p)
{
	static const uint32_t lengths[] = { 10, 100, 100, 100, 400, 3000 };

	add_paths(p);
	for (uint32_t n = below(60); p->slots && n; n--)
		count(p, 1 + below(p->slots));
	p->time += lengths[below(6)] * MS;
	BOTH(made_tick_whole, &p->total, p->time);
}

static void set_mark(struct pair *p)
{
	uint32_t id = ++p->marks;

	BOTH(made_mark, id, p->epoch, p->time, 0, "mark");
	p->epoch_of[id] = p->epoch++;
	for (uint32_t i = 1; i <= p->slots; i++)
		BOTH(made_cell, id, i, live_blocks(&p->slot[i]), live_bytes(&p->slot[i]));
	BOTH(made_cells_end, id);
}

static void drop_mark(struct pair *p, uint32_t id)
{
	BOTH(made_mark, id, p->epoch_of[id], p->time, MTW_MARK_DROPPED, "mark");
}

/* The link was renewed: everything comes again. */
static void reconnect(struct pair *p)
{
	p->reconnects++;
	BOTH(hello, 7);
	for (uint32_t i = 1; i <= p->slots; i++) {
		const struct tally *t = &p->slot[i];
		BOTH(made_counts, i, t->alloc_blocks, t->alloc_bytes, t->free_blocks,
		     t->free_bytes);
		if (below(50) == 0)
			BOTH(made_tick, p->time, 0);
	}
	BOTH(made_tick_whole, &p->total, p->time);
}

#define SAME(a, b) CHECK(!memcmp(&(a), &(b), sizeof(a)))

static void compare_nodes(const struct model *a, const struct model *b)
{
	for (uint32_t i = 0; i < made_nodes(a); i++) {
		const struct skeleton *s = model_columns(a)->skeleton,
				      *t = model_columns(b)->skeleton;
		uint32_t x = s->id[s->node_of[i]], y = t->id[t->node_of[i]];
		for (int below = 0; below < 2; below++) {
			struct amounts v = made_amounts(a, x, below), w = made_amounts(b, y, below);
			SAME(v.sum, w.sum);
			SAME(v.rate, w.rate);
			SAME(v.change, w.change);
			CHECK_EQ(v.sampled, w.sampled);
		}
	}
}

static void compare(const struct pair *p)
{
	const struct model *a = p->of[0], *b = p->of[1];
	const struct point *x, *y;
	const struct instant *i, *j;
	struct rates rates[2];

	must_hold(a);
	must_hold(b);
	compare_nodes(a, b);
	for (uint32_t s = 1; s <= p->slots; s++) {
		struct tally v = made_now(a, s), w = made_now(b, s);
		SAME(v, w);
	}
	SAME(*model_totals(a), *model_totals(b));
	CHECK_EQ(model_time(a), model_time(b));
	CHECK_EQ(model_complete(a), model_complete(b));
	CHECK_EQ(model_base(a), model_base(b));
	size_t n = model_history(a, &x);
	CHECK_EQ(n, model_history(b, &y));
	CHECK(!memcmp(x, y, n * sizeof *x));
	n = model_instants(a, &i);
	CHECK_EQ(n, model_instants(b, &j));
	CHECK(!memcmp(i, j, n * sizeof *i));
	rates[0] = model_rates(a);
	rates[1] = model_rates(b);
	CHECK(rates[0].known == rates[1].known && rates[0].alloc_bytes == rates[1].alloc_bytes &&
	      rates[0].alloc_blocks == rates[1].alloc_blocks &&
	      rates[0].free_bytes == rates[1].free_bytes &&
	      rates[0].free_blocks == rates[1].free_blocks);
	CHECK_EQ(model_window(a), model_window(b));
}

static void walk(struct pair *p, int steps)
{
	for (int i = 0; i < steps; i++) {
		step(p);
		if (below(20) == 0 && p->marks < MARKS)
			set_mark(p);
		if (below(40) == 0)
			reconnect(p);
		if (below(40) == 0 && p->marks)
			drop_mark(p, 1 + below(p->marks));
	}
}

static void session(uint64_t number)
{
	struct pair *p = calloc(1, sizeof *p);
	struct err err = { 0 };

	seed = number * 2654435761u + 1;
	for (int i = 0; i < 2; i++)
		p->of[i] = model_new();
	BOTH(hello, 7);
	BOTH(made_module, 0, "/bin/random", MTW_MODULE_MAIN);
	walk(p, below(2) ? 1 + (int)below(30) : 0);
	if (p->marks && below(2))
		BOTH(model_set_interval, p->marks, 0); /* refused when it was dropped */
	bool shows = model_complete(p->of[1]);
	struct tally then = made_amounts(p->of[1], 0, true).sum;
	p->reconnects = 0;
	model_bulk_begin(p->of[1]);
	walk(p, (int)below(100));
	if (below(2) && p->slots)
		count(p, 1 + below(p->slots)); /* waits for the next tick */
	if (shows && !p->reconnects) {
		struct tally now = made_amounts(p->of[1], 0, true).sum;
		SAME(now, then); /* still of the instant before */
	}
	CHECK_EQ(model_bulk_end(p->of[1], &err), 0);
	compare(p);
	for (int i = 0; i < 20; i++) {
		step(p);
		compare(p);
	}
	for (int i = 0; i < 2; i++)
		model_free(p->of[i]);
	free(p);
}

TEST(bulk_is_the_same)
{
	for (uint64_t number = 1; number <= 60; number++)
		session(number);
}

/* Found with the next event, or at the end. */
TEST(counters_are_checked_in_bulk)
{
	static const char *const words[] = { "never named", "shrink", "more than" };
	static const struct tally bad[] = { { 1, 1, 0, 0 }, { 1, 100, 0, 0 }, { 3, 300, 4, 10 } };

	for (unsigned i = 0; i < 6; i++) {
		struct model *m = model_new();
		const struct tally sum = { 2, 200, 0, 0 };
		struct event e = { .type = MTW_COUNTS };
		struct err err = { 0 };
		hello(m, 7);
		made_module(m, 0, "/bin/x", MTW_MODULE_MAIN);
		made_node(m, 1, 0, 0, 16);
		made_slot(m, 1, 1, 0);
		model_bulk_begin(m);
		made_counts(m, 1, 2, 200, 0, 0);
		made_tick_whole(m, &sum, 100 * MS);
		e.u.counts.slot = i % 3 ? 1 : 2;
		e.u.counts.now = bad[i % 3];
		CHECK_EQ(model_apply(m, &e, &err), 0);
		e = (struct event){ .type = MTW_TICK };
		e.u.tick.time_ns = 200 * MS;
		if (i < 3)
			CHECK_EQ(model_apply(m, &e, &err), -1);
		CHECK_EQ(model_bulk_end(m, &err), i < 3 ? 0 : -1);
		CHECK(strstr(err.text, words[i % 3]));
		CHECK_EQ(made_live(m, 0).bytes, 200);
		model_free(m);
	}
}
