/* SPDX-License-Identifier: MIT
 *
 * test_ticks.c - ticks that change many call paths, and their cost.
 */
#include "check.h"
#include "made.h"

#include <malloc.h>

#define TICK 100000000ull

#define PATHS 60000u /* of which each has a node of its own below one of a hundred */

static void many_counts(struct model *m, uint32_t step, uint64_t each, struct tally *sum)
{
	*sum = (struct tally){ 0 };
	for (uint32_t i = 1; i <= PATHS; i++) {
		bool late = i % step != 0;
		uint64_t blocks = late ? each - 1 : each;
		if (!late)
			made_counts(m, i, blocks, blocks * 10, blocks / 2, blocks / 2 * 10);
		sum->alloc_blocks += blocks;
		sum->alloc_bytes += blocks * 10;
		sum->free_blocks += blocks / 2;
		sum->free_bytes += blocks / 2 * 10;
	}
}

static struct model *many(struct tally *sum)
{
	struct model *m = model_new();

	made_module(m, 0, "/bin/many", MTW_MODULE_MAIN);
	for (uint32_t i = 1; i <= 100; i++)
		made_node(m, i, 0, 0, i);
	for (uint32_t i = 1; i <= PATHS; i++) {
		made_node(m, 100 + i, 1 + i % 100, 0, i / 100);
		made_slot(m, i, 100 + i, 0);
	}
	many_counts(m, 1, 1, sum);
	return m;
}

TEST(ticks_that_change_a_large_part)
{
	struct tally sum;
	struct model *m = many(&sum);

	made_weighed(m, 7, 4096);
	made_tick_whole(m, &sum, TICK);
	must_hold(m);
	CHECK_EQ(made_live(m, 1).blocks, PATHS / 100);
	CHECK(made_amounts(m, 107, false).sampled && made_amounts(m, 8, true).sampled == 1 &&
	      model_estimate(m));
	CHECK_EQ(made_amounts(m, 0, true).rate.blocks, 0);
	for (uint64_t i = 2; i <= 4; i++) { /* all of them, and as a few are: by the other way */
		many_counts(m, i == 3 ? 50 : 1, i == 4 ? 3 : i, &sum);
		made_tick(m, i * TICK, 0);
		must_hold(m);
	}
	CHECK_EQ(made_amounts(m, 0, true).rate.blocks, 2 * PATHS);
	CHECK_EQ(made_amounts(m, 0, false).rate.blocks, 0);
	CHECK_EQ(made_amounts(m, 150, false).rate.blocks, 2);
	made_mark(m, 1, 0, 4 * TICK, 0, "one");
	made_cell(m, 1, 50, 1, 10);
	made_cells_end(m, 1);
	CHECK_EQ(model_set_interval(m, 1, 0), 0);
	made_node(m, 100 + PATHS + 1, 1, 0, 77); /* what is younger than the interval */
	made_slot(m, PATHS + 1, 100 + PATHS + 1, 1);
	made_counts(m, PATHS + 1, 5, 50, 0, 0);
	made_tick(m, 5 * TICK, 0);
	must_hold(m);
	CHECK_EQ(made_amounts(m, 100 + PATHS + 1, false).change.born_blocks, 5);
	const struct heap *h = model_heap(m);
	CHECK(heap_held_at_base(h, h->skeleton->node_of[150]) &&
	      !heap_held_at_base(h, h->skeleton->node_of[151]));
	many_counts(m, 1, 4, &sum);
	made_tick(m, 6 * TICK, 0);
	must_hold(m);
	CHECK_EQ(model_set_interval(m, 0, 1), 0);
	made_tick(m, 120 * TICK, 0); /* the window has no allocation */
	must_hold(m);
	CHECK_EQ(made_amounts(m, 0, true).rate.blocks, 0);
	CHECK_EQ(made_amounts(m, 0, true).change.born_blocks, 1);
	model_free(m);
}

static size_t allocated(void)
{
	struct mallinfo2 i = mallinfo2();

	return i.uordblks + i.hblkhd;
}

/* Of the model alone; a sanitizer's malloc says that it holds nothing. */
TEST(memory_of_a_call_path)
{
	size_t before = allocated(), first, late;
	struct tally sum;
	struct model *m = many(&sum);

	made_tick_whole(m, &sum, TICK);
	made_tick_whole(m, &sum, 2 * TICK); /* and what the first one took for itself goes */
	CHECK((allocated() - before) / PATHS <= 100); /* a node, a slot, as they came */
	model_heap(m);
	first = allocated() - before;
	CHECK(first / PATHS <= 130);        /* in place, and the sums of a snapshot */
	for (uint64_t i = 3; i <= 6; i++) { /* late ticks, of which each has all paths */
		many_counts(m, 1, i, &sum);
		made_tick_whole(m, &sum, i * TICK);
	}
	for (uint64_t i = 7; i <= 20; i++) /* until they leave the rates' window */
		made_tick_whole(m, &sum, 10 * i * TICK);
	late = allocated() - before;
	CHECK(late <= first + first / 50);
	made_mark(m, 1, 0, 200 * TICK, 0, "one");
	made_cells_end(m, 1);
	CHECK_EQ(model_set_interval(m, 1, 0), 0);
	CHECK_EQ(model_set_interval(m, 0, 0), 0);
	CHECK(allocated() - before <= late + 4096);
	model_free(m);
}

/* Found with the next event, or at the end. */
TEST(counters_behind_the_last_tick_are_checked)
{
	static const char *const words[] = { "never named", "shrink", "more than" };
	static const struct tally bad[] = { { 1, 1, 0, 0 }, { 1, 100, 0, 0 }, { 3, 300, 4, 10 } };

	for (unsigned i = 0; i < 6; i++) {
		struct model *m = model_new();
		const struct tally sum = { 2, 200, 0, 0 };
		struct event e = { .type = MTW_COUNTS };
		struct err err = { 0 };
		made_module(m, 0, "/bin/x", MTW_MODULE_MAIN);
		made_node(m, 1, 0, 0, 16);
		made_slot(m, 1, 1, 0);
		made_counts(m, 1, 2, 200, 0, 0);
		made_tick_whole(m, &sum, TICK);
		e.u.counts.slot = i % 3 ? 1 : 2;
		e.u.counts.now = bad[i % 3];
		CHECK_EQ(model_apply(m, &e, &err), 0);
		e = (struct event){ .type = MTW_TICK };
		e.u.tick.time_ns = 2 * TICK;
		if (i < 3)
			CHECK_EQ(model_apply(m, &e, &err), -1);
		CHECK_EQ(model_catch_up(m, &err), i < 3 ? 0 : -1);
		CHECK(strstr(err.text, words[i % 3]));
		CHECK_EQ(made_live(m, 0).bytes, 200);
		model_free(m);
	}
}
