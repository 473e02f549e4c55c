/* SPDX-License-Identifier: MIT
 *
 * test_rates.c - all rates are of one window: the last ten seconds.
 */
#include "check.h"
#include "made.h"
#include "random.h"

#define SECOND UINT64_C(1000000000)
#define TICK (SECOND / 10)

/* main > serve > decode (slot 2), main > draw (slot 3) */
static struct model *paths(void)
{
	struct model *m = model_new();

	made_module(m, 0, "/bin/paths", MTW_MODULE_MAIN);
	made_node(m, 1, 0, 0, 1);
	made_node(m, 2, 1, 0, 2);
	made_node(m, 3, 2, 0, 3);
	made_node(m, 4, 1, 0, 4);
	made_slot(m, 2, 3, 0);
	made_slot(m, 3, 4, 0);
	made_tick_whole(m, &(struct tally){ 0 }, TICK);
	return m;
}

static double calls_of(const struct model *m, uint32_t node)
{
	return model_per_second(m, made_amounts(m, node, true).rate.blocks);
}

/* As many calls by each instant as that rate makes, at ticks of that length (ms): off by one call
 * of the window at most. */
static void at_rate(double rate, uint64_t length)
{
	struct model *m = paths();
	uint64_t time = TICK, last = 40 * SECOND + 10 * length * 1000000;

	while (time < last) {
		time += length * 1000000;
		uint64_t calls = (uint64_t)(rate * (double)(time - TICK) / 1e9);
		made_counts(m, 2, calls, calls * 40, 0, 0);
		made_tick_whole(m, &(struct tally){ calls, calls * 40, 0, 0 }, time);
		if (time < 21 * SECOND)
			continue;
		double window = (double)model_window(m) / 1e9, error = 1 / window + rate * 1e-9;
		CHECK(window >= 10 && window < 11 + 2 * (double)length / 1e3);
		CHECK(calls_of(m, 1) >= rate - error && calls_of(m, 1) <= rate + error);
		CHECK(calls_of(m, 3) == calls_of(m, 1));
		CHECK(model_rates(m).alloc_blocks == calls_of(m, 1));
		CHECK_EQ(made_amounts(m, 1, true).rate.bytes,
			 40 * made_amounts(m, 1, true).rate.blocks);
	}
	must_hold(m);
	model_free(m);
}

/* Ticks are never of exactly the length that they should have. */
TEST(rates_are_exact_with_ticks_of_any_length)
{
	static const double rates[] = { 0, 0.1, 0.5, 0.9, 3, 8.5, 20, 50, 1000, 1000000 };
	static const uint64_t lengths[] = { 20, 83, 99, 101, 140, 700, 1000, 5000, 60000 };

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
			at_rate(rates[i], lengths[k]);
}

/* Rows and totals tell the same, at every tick: also right after a load has ended. */
TEST(rows_are_the_totals)
{
	struct model *m = paths();
	struct tally of[2] = { 0 }, sum;

	seed = 33;
	for (uint64_t i = 1; i <= 400; i++) {
		bool load = i % 200 < 60;
		for (int k = 0; k < 2 && load; k++) {
			struct tally more = { below(900), below(90000), 0, 0 };
			more.free_blocks = below((uint32_t)live_blocks(&of[k]) + 1);
			more.free_bytes = below((uint32_t)live_bytes(&of[k]) + 1);
			tally_add(&of[k], &more);
			made_counts(m, 2 + (uint32_t)k, of[k].alloc_blocks, of[k].alloc_bytes,
				    of[k].free_blocks, of[k].free_bytes);
		}
		sum = of[0];
		tally_add(&sum, &of[1]);
		made_tick_whole(m, &sum, (i + 1) * TICK);
		must_hold(m);
		struct rate all = made_amounts(m, 1, true).rate,
			    one = made_amounts(m, 2, true).rate,
			    two = made_amounts(m, 4, false).rate;
		struct rates told = model_rates(m);
		rate_add(&one, &two);
		CHECK(told.known && !memcmp(&one, &all, sizeof all));
		CHECK(told.alloc_bytes == model_per_second(m, all.bytes));
		CHECK(told.alloc_blocks == model_per_second(m, all.blocks));
		CHECK(told.free_bytes == model_per_second(m, all.freed));
		if (i % 200 == 70) /* a second after the load */
			CHECK(all.blocks > 0);
		if (i % 200 == 180) /* it left the window */
			CHECK(!rate_any(&all));
	}
	model_free(m);
}

/* One state alone has no rate; what came before the first one is history. */
TEST(the_first_state_is_no_rate)
{
	struct model *m = paths();
	struct tally sum = { 1000, 40000, 0, 0 };

	CHECK(!model_rates(m).known && !model_window(m));
	made_counts(m, 2, 1000, 40000, 0, 0);
	made_tick_whole(m, &sum, TICK + TICK / 2);
	CHECK(model_rates(m).alloc_blocks == 20000);
	CHECK_EQ(model_window(m), TICK / 2);
	model_free(m);
}

/* What a pause of the link holds together is over all of the pause. */
TEST(rates_are_over_all_of_a_pause)
{
	struct model *m = paths();

	made_counts(m, 2, 600, 600, 0, 0);
	made_tick_whole(m, &(struct tally){ 600, 600, 0, 0 }, TICK + 60 * SECOND);
	CHECK(calls_of(m, 1) == 10);
	made_counts(m, 2, 610, 610, 0, 0);
	made_tick_whole(m, &(struct tally){ 610, 610, 0, 0 }, TICK + 61 * SECOND);
	CHECK(calls_of(m, 1) == 10);
	made_tick_whole(m, &(struct tally){ 610, 610, 0, 0 }, TICK + 70 * SECOND);
	CHECK(calls_of(m, 1) == 1);
	made_tick_whole(m, &(struct tally){ 610, 610, 0, 0 }, TICK + 71 * SECOND);
	CHECK(calls_of(m, 1) == 0);
	must_hold(m);
	model_free(m);
}

static void thread(struct model *m, uint32_t index, uint64_t blocks, uint64_t bytes)
{
	struct event e = { .type = MTW_THREAD };

	e.u.thread.index = index;
	e.u.thread.tid = 100 + index;
	e.u.thread.name = made_text("t");
	e.u.thread.done = (struct tally){ blocks, bytes, 0, 0 };
	made_apply(m, &e);
}

/* Threads are rated over the same window, new ones and numbers that a new thread took over, too. */
TEST(threads_are_rated_over_the_same_window)
{
	struct model *m = paths();
	struct rate r;

	thread(m, 1, 5000, 5000);
	CHECK(!model_thread_rate(m, 1, &r));
	for (uint64_t i = 1; i <= 300; i++) {
		struct tally sum = { 3 * i, 30 * i, 0, 0 };
		made_counts(m, 2, sum.alloc_blocks, sum.alloc_bytes, 0, 0);
		made_tick_whole(m, &sum, (i + 1) * TICK);
		thread(m, 1, i <= 250 ? 5000 + 3 * i : 3 * (i - 250), 10);
		if (i > 200)
			thread(m, 2, i - 200, 10);
		CHECK(model_thread_rate(m, 1, &r));
	}
	CHECK_EQ(r.blocks, 150); /* the number's new thread, which began five seconds ago */
	CHECK(model_thread_rate(m, 2, &r));
	uint64_t ticks = model_window(m) / TICK;
	CHECK(ticks >= 100 && ticks <= 110);
	CHECK(r.blocks + 1 >= (ticks < 100 ? ticks : 100) && r.blocks <= 100);
	model_free(m);
}

static void stops(struct model *m, uint64_t begin_ns, uint64_t end_ns)
{
	struct event e = { .type = MTW_STOPS };

	e.u.stops.count = 1;
	e.u.stops.list[0] = (struct stop){
		begin_ns, end_ns, end_ns == UINT64_MAX ? 0 : end_ns - begin_ns, 1, MTW_STOP_SIGNAL,
		0,        ""
	};
	made_apply(m, &e);
}

/* While it is stopped, and after: the window is of time that the program ran. */
TEST(a_stop_is_in_no_window)
{
	struct model *m = paths();
	uint64_t time = TICK, calls = 0, from = 0;

	for (unsigned i = 0; i < 1500; i++, time += TICK) {
		bool runs = i < 400 || i >= 1000;
		if (i == 400)
			stops(m, from = time, UINT64_MAX);
		if (i == 1000)
			stops(m, from, time);
		calls += runs ? 10 : 0;
		made_counts(m, 2, calls, calls * 40, 0, 0);
		made_tick_whole(m, &(struct tally){ calls, calls * 40, 0, 0 }, time + TICK);
		must_hold(m);
		if (i < 150)
			continue;
		CHECK(model_window(m) >= 10 * SECOND && model_window(m) < 11 * SECOND + 2 * TICK);
		CHECK(calls_of(m, 1) > 99.9 && calls_of(m, 1) < 100.1);
		CHECK(model_rates(m).alloc_blocks == calls_of(m, 1));
	}
	model_free(m);
}
