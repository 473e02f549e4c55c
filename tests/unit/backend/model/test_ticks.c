/* SPDX-License-Identifier: MIT
 *
 * test_ticks.c - ticks that change many call paths: whole, in slices, and their cost.
 */
#include "check.h"
#include "made.h"

#include <malloc.h>

#define TICK 100000000ull

#define PATHS 60000u /* of which each has a node of its own below one of a hundred */

struct told {
	uint32_t lists, changes, anything;
};

static void count_told(void *arg, const struct model_delta *d, size_t count)
{
	struct told *t = arg;

	t->lists += d != NULL;
	t->changes += (uint32_t)count;
	t->anything += d == NULL;
}

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
	struct told t = { 0 };

	model_on_change(m, count_told, &t);
	made_weighed(m, 7, 4096);
	made_tick_whole(m, &sum, TICK);
	must_hold(m);
	CHECK_EQ(t.anything, 1); /* a first state is no list of changes */
	CHECK_EQ(t.changes, 0);
	CHECK_EQ(made_live(m, 1).blocks, PATHS / 100);
	CHECK(model_node(m, 107)->self_estimate && model_sampled(m, model_node(m, 8)) == 1 &&
	      model_estimate(m));
	CHECK_EQ(model_rate(m, model_node(m, 0)).blocks, 0);
	for (uint64_t i = 2; i <= 4; i++) { /* all of them, and as a few are: by the other way */
		many_counts(m, i == 3 ? 50 : 1, i == 4 ? 3 : i, &sum);
		made_tick(m, i * TICK, 0);
		must_hold(m);
		CHECK_EQ(t.anything, 1);
		CHECK_EQ(t.lists, i - 1);
	}
	CHECK_EQ(t.changes, PATHS + PATHS / 50 + PATHS);
	CHECK_EQ(model_rate(m, model_node(m, 0)).blocks, 2 * PATHS);
	CHECK_EQ(model_self_rate(m, model_node(m, 0)).blocks, 0);
	CHECK_EQ(model_self_rate(m, model_node(m, 150)).blocks, 2);
	made_mark(m, 1, 0, 4 * TICK, 0, "one");
	made_cell(m, 1, 50, 1, 10);
	made_cells_end(m, 1);
	CHECK_EQ(model_set_interval(m, 1, 0), 0);
	made_node(m, 100 + PATHS + 1, 1, 0, 77); /* what is younger than the interval */
	made_slot(m, PATHS + 1, 100 + PATHS + 1, 1);
	made_counts(m, PATHS + 1, 5, 50, 0, 0);
	made_tick(m, 5 * TICK, 0);
	must_hold(m);
	CHECK_EQ(model_self_change(m, model_node(m, 100 + PATHS + 1)).born_blocks, 5);
	CHECK(model_held_at_base(m, model_node(m, 150)) &&
	      !model_held_at_base(m, model_node(m, 151)));
	many_counts(m, 1, 4, &sum);
	made_tick(m, 6 * TICK, 0);
	must_hold(m);
	CHECK_EQ(model_set_interval(m, 0, 1), 0);
	made_tick(m, 120 * TICK, 0); /* the window has no allocation */
	must_hold(m);
	CHECK_EQ(model_rate(m, model_node(m, 0)).blocks, 0);
	CHECK_EQ(model_change(m, model_node(m, 0)).born_blocks, 1);
	model_free(m);
}

struct summed {
	struct model *m;
	struct tally sum;
	unsigned anew;
};

static void sum_told(void *arg, const struct model_delta *d, size_t count)
{
	struct summed *x = arg;

	x->anew += !d;
	for (size_t i = 0; d && i < count; i++) {
		x->sum.alloc_bytes += d[i].self.alloc_bytes;
		x->sum.free_blocks += d[i].self.free_blocks;
	}
}

/* In slices: at each moment it is as it was at some tick, and in the end as without. */
TEST(large_ticks_in_slices)
{
	struct tally sum;
	struct model *whole = many(&sum), *m = many(&sum);
	struct summed x = { .m = m };
	uint64_t seen = 0;

	made_tick_whole(whole, &sum, TICK);
	made_tick_whole(m, &sum, TICK);
	model_set_sliced(m, true);
	model_on_change(m, sum_told, &x);
	uint64_t before = model_totals(m)->sum.alloc_bytes;
	for (uint64_t i = 2; i < 20; i++) {
		for (int k = 0; k < 2; k++) {
			struct model *to = k ? m : whole;
			many_counts(to, 1, i, &sum);
			/* paths come meanwhile, too */
			made_node(to, 1000000 + (uint32_t)i, 1, 0, i);
			made_slot(to, PATHS + (uint32_t)i, 1000000 + (uint32_t)i, i);
			made_counts(to, PATHS + (uint32_t)i, 1, 7, 0, 0);
			sum.alloc_blocks += i - 1;
			sum.alloc_bytes += 7 * (i - 1);
			made_tick_whole(to, &sum, i * TICK);
		}
		CHECK(model_busy(m));
		for (unsigned n = 700; n && model_busy(m); n--) {
			uint64_t ticks = model_ticks(m);
			model_go_on(m, 1); /* a moment of the past: the least that it does */
			seen += model_ticks(m) - ticks;
			CHECK_EQ(model_incl(m, model_node(m, 0)).alloc_bytes,
				 model_totals(m)->sum.alloc_bytes);
			if (n % 100)
				continue;
			/* a stack gets callees, its sum is not its own any more */
			for (int k = 0; k < 2; k++)
				made_node(k ? m : whole, 2000000 + (uint32_t)i * 1000 + n,
					  100 + (uint32_t)i * 1000 + n, 0, 1);
			must_hold(m);
		}
		if (i == 9)
			CHECK_EQ(model_set_interval(m, 0, 0), 0); /* needs it whole */
	}
	CHECK(model_go_on(m, UINT64_MAX) && !model_busy(m));
	CHECK(seen > 0);
	must_hold(m);
	CHECK_EQ(model_time(m), 19 * TICK);
	CHECK_EQ(model_incl(m, model_node(m, 0)).alloc_bytes,
		 model_incl(whole, model_node(whole, 0)).alloc_bytes);
	CHECK_EQ(x.sum.alloc_bytes, model_totals(m)->sum.alloc_bytes - before);
	for (uint32_t i = 0; i < model_dense_count(whole); i++) {
		uint32_t id;
		const struct node *n = model_dense(whole, i, &id);
		struct tally a = model_incl(whole, n), b = model_incl(m, model_node(m, id));
		CHECK(!memcmp(&a, &b, sizeof a));
	}
	model_free(m);
	model_free(whole);
}

struct changed {
	struct model *m;
	uint64_t net, born;
	unsigned anew;
};

static void sum_changes(void *arg, const struct model_delta *d, size_t count)
{
	struct changed *x = arg;

	for (size_t i = 0; d && i < count; i++) {
		x->born += d[i].self_change.born_bytes;
		x->net += d[i].self_change.born_bytes - d[i].self_change.gone_bytes;
	}
	if (d)
		return;
	const struct change c = model_change(x->m, model_node(x->m, 0));
	x->anew++;
	x->born = c.born_bytes;
	x->net = c.born_bytes - c.gone_bytes;
}

/* Whatever is going on when it is asked for, changes count in the one that is in force, and then in
 * the other. */
TEST(another_interval_in_slices)
{
	struct tally sum;
	struct model *m = many(&sum);
	struct changed x = { .m = m };
	uint32_t from, to, rounds = 0;

	made_tick_whole(m, &sum, TICK);
	for (uint32_t id = 1; id <= 3; id++) {
		made_mark(m, id, 0, TICK, 0, "mark");
		for (uint32_t i = id; i < PATHS; i += 2 * id)
			made_cell(m, id, i, 2, 30);
		made_cells_end(m, id);
	}
	model_set_sliced(m, true);
	model_on_change(m, sum_changes, &x);
	sum_changes(&x, NULL, 0);
	for (uint64_t i = 2; i <= 21; i++) {
		many_counts(m, i % 2 ? 1 : 3, i, &sum);
		made_node(m, 1000000 + (uint32_t)i, 1, 0, i);
		made_slot(m, PATHS + (uint32_t)i, 1000000 + (uint32_t)i, i);
		sum = model_totals(m)->sum;
		made_tick(m, i * TICK, 0);
		for (unsigned n = 0; model_busy(m) && n < (i % 3 ? 60 * i : 5000); n++) {
			model_go_on(m, 1);
			const struct change c = model_change(m, model_node(m, 0));
			CHECK(x.born == c.born_bytes && x.net == c.born_bytes - c.gone_bytes);
			rounds += model_counting(m, &from, &to) > 0;
		}
		must_hold(m);
		CHECK_EQ(model_set_interval(m, (uint32_t)(i % 4), i % 8 == 1 ? 2 : 0), 0);
		model_counting(m, &from, &to);
		CHECK(from == i % 4 && to == (i % 8 == 1 ? 2 : 0));
		if (i == 21) {
			/* what it says goes over to the next */
			made_mark(m, 1, 0, TICK, MTW_MARK_DROPPED, "mark");
			CHECK(model_counting(m, &from, &to) < 0 && !from);
		}
		must_hold(m);
	}
	CHECK(rounds > 100 && x.anew > 10);
	CHECK_EQ(model_set_interval(m, 3, 0), 0);
	model_go_on(m, 1);
	/* of the chain that is being followed */
	made_mark(m, 2, 0, TICK, MTW_MARK_DROPPED, "mark");
	CHECK(model_go_on(m, UINT64_MAX));
	CHECK(model_base(m) == 3 && model_counting(m, &from, &to) < 0);
	must_hold(m);
	model_free(m);
}

/* A small tick ends; the larger data that arrived for the next one stays. */
TEST(much_comes_while_a_small_tick_is_taken_in)
{
	struct tally sum;
	struct model *m = many(&sum);

	made_tick_whole(m, &sum, TICK);
	model_set_sliced(m, true);
	many_counts(m, 20, 2, &sum);
	made_tick_whole(m, &sum, 2 * TICK);
	CHECK(model_busy(m));
	many_counts(m, 1, 3, &sum);
	CHECK(model_go_on(m, UINT64_MAX));
	made_tick_whole(m, &sum, 3 * TICK);
	CHECK(model_go_on(m, UINT64_MAX));
	must_hold(m);
	CHECK_EQ(model_incl(m, model_node(m, 0)).alloc_bytes, sum.alloc_bytes);
	model_free(m);
}

/* A tick waits for one that is being taken in, and a part of the next one comes: it is none of
 * it. */
TEST(a_tick_that_waits_ends_where_it_ended)
{
	struct tally sum;
	struct model *m = many(&sum);

	made_tick_whole(m, &sum, TICK);
	model_set_sliced(m, true);
	many_counts(m, 1, 2, &sum);
	made_tick_whole(m, &sum, 2 * TICK);
	model_go_on(m, 1);
	CHECK(model_busy(m));
	many_counts(m, 1, 3, &sum);
	made_tick_whole(m, &sum, 3 * TICK);
	made_counts(m, 1, 1000, 100000, 1, 10);
	CHECK(model_go_on(m, UINT64_MAX));
	CHECK(!model_busy(m));
	CHECK_EQ(model_time(m), 2 * TICK);
	must_hold(m);
	sum.alloc_blocks += 997;
	sum.alloc_bytes += 100000 - 30;
	made_tick_whole(m, &sum, 4 * TICK);
	CHECK(model_go_on(m, UINT64_MAX));
	CHECK_EQ(model_time(m), 4 * TICK);
	must_hold(m);
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
	first = allocated() - before;
	CHECK(first / PATHS <= 120);        /* a node, a slot, and the links between them */
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
