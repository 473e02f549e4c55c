/* SPDX-License-Identifier: MIT
 *
 * test_model.c - the session's sums, by hand; what ticks and paths cost.
 */
#include "check.h"
#include "made.h"
#include "model/series.h"

#include <malloc.h>

#define TICK 100000000ull

/* main (1) > a (2), b (3) > c (4); slots 1..3 at a, c, c's second epoch */
static struct model *family(void)
{
	struct model *m = model_new();

	made_module(m, 0, "/bin/family", MTW_MODULE_MAIN);
	made_node(m, 1, 0, 0, 0x10);
	made_node(m, 2, 1, 0, 0x20);
	made_node(m, 3, 1, 0, 0x30);
	made_node(m, 4, 3, 0, 0x40);
	made_slot(m, 1, 2, 0);
	made_slot(m, 2, 4, 0);
	return m;
}

static void tick(struct model *m, uint64_t number)
{
	made_tick(m, number * TICK, 0);
	must_hold(m);
}

static const struct tally *own(const struct model *m, uint32_t node)
{
	static struct tally self;

	self = model_self(m, model_node(m, node));
	return &self;
}

TEST(inclusive_sums_by_hand)
{
	struct model *m = family();

	made_counts(m, 1, 10, 1000, 4, 400);
	made_counts(m, 2, 5, 50, 0, 0);
	CHECK_EQ(made_live(m, 0).bytes, 0); /* held back until the tick */
	tick(m, 1);
	CHECK_EQ(live_bytes(own(m, 2)), 600);
	CHECK_EQ(live_bytes(own(m, 3)), 0);
	CHECK_EQ(made_live(m, 3).bytes, 50);
	CHECK_EQ(made_live(m, 1).bytes, 650);
	CHECK_EQ(made_live(m, 0).blocks, 11);
	CHECK_EQ(model_incl(m, model_node(m, 0)).alloc_bytes, 1050);
	CHECK_EQ(model_node(m, 4)->depth, 3);
	made_counts(m, 2, 6, 60, 1, 10);
	made_counts(m, 2, 7, 70, 2, 20); /* twice in a step: the last counts */
	tick(m, 2);
	CHECK_EQ(made_live(m, 1).bytes, 650);
	CHECK_EQ(model_incl(m, model_node(m, 1)).alloc_bytes, 1070);
	model_free(m);
}

static int filter(struct model *m, uint32_t index, uint64_t since, uint64_t sample)
{
	struct event e = { .type = MTW_FILTER };

	e.u.filter.index = index;
	e.u.filter.since_ns = since;
	e.u.filter.sample = sample;
	e.u.filter.libs = e.u.filter.exclude = made_text("");
	e.u.filter.who = made_text("you");
	return model_apply(m, &e, &made_err);
}

TEST(what_was_sampled_is_known_up_to_the_root)
{
	struct model *m = family();
	struct event e = { .type = MTW_WEIGHED };
	const struct recorded *list;

	CHECK(!model_estimate(m) && !model_filter(m));
	CHECK_EQ(filter(m, 0, 5, 65536), 0);
	CHECK_EQ(model_filter(m)->sample, 65536);
	CHECK(!model_estimate(m)); /* nothing was sampled yet */
	made_slot(m, 3, 4, 0);     /* beside slot 2, which is exact: the same stack and epoch */
	e.u.weighed.slot = 3;
	e.u.weighed.sample = 65536;
	CHECK_EQ(model_apply(m, &e, &made_err), 0);
	made_counts(m, 2, 5, 50, 0, 0);
	made_counts(m, 3, 100, 1000, 10, 100);
	tick(m, 1);
	CHECK_EQ(live_blocks(own(m, 4)), 95);
	CHECK(model_estimate(m) && model_node(m, 4)->self_estimate);
	CHECK(model_sampled(m, model_node(m, 3)) && model_sampled(m, model_node(m, 1)));
	CHECK(!model_sampled(m, model_node(m, 2)) && !model_node(m, 3)->self_estimate);
	CHECK_EQ(filter(m, 1, 9, 0), 0);
	/* every block again, but what is there was sampled */
	CHECK(!model_filter(m) && model_estimate(m));
	CHECK_EQ(model_filters(m, &list), 2);
	CHECK_EQ(list[1].since_ns, 9);
	CHECK_STR(list[0].who, "you");
	CHECK_EQ(filter(m, 0, 1, 7), 0); /* told again: they do not change */
	CHECK_EQ(list[0].sample, 65536);
	CHECK_EQ(filter(m, 5, 1, 7), -1);
	e.u.weighed.slot = 77;
	CHECK_EQ(model_apply(m, &e, &made_err), -1);
	model_clear(m);
	CHECK(!model_estimate(m) && !model_filter(m) && !model_filters(m, &list));
	model_free(m);
}

TEST(marks_before_the_first_sample_are_exact)
{
	struct model *m = family();

	made_mark(m, 1, 0, 2, 0, "before");
	made_slot(m, 3, 4, 1);
	made_weighed(m, 3, 4096);
	made_mark(m, 2, 1, 3, 0, "after");
	made_counts(m, 3, 10, 100, 0, 0);
	tick(m, 1);
	CHECK(!model_mark_estimate(m, 1) && model_mark_estimate(m, 2) &&
	      !model_mark_estimate(m, 3));
	model_clear(m);
	made_mark(m, 1, 0, 2, 0, "anew");
	CHECK(!model_mark_estimate(m, 1));
	model_free(m);
}

/* A slot that is weighed after it was counted: as when a viewer comes late. */
TEST(a_slot_is_weighed_after_it_was_counted)
{
	struct model *m = family();

	made_counts(m, 2, 5, 50, 0, 0);
	tick(m, 1);
	made_weighed(m, 2, 4096);
	CHECK(!model_estimate(m));
	tick(m, 2);
	CHECK(model_estimate(m) && model_node(m, 4)->self_estimate);
	CHECK_EQ(made_live(m, 1).bytes, 50);
	model_free(m);
}

TEST(born_gone_and_net_since_a_mark)
{
	struct model *m = family();

	made_counts(m, 1, 10, 1000, 0, 0);
	tick(m, 1);
	made_mark(m, 1, 0, TICK, 0, "first");
	made_cell(m, 1, 1, 10, 1000);
	made_cells_end(m, 1);
	made_slot(m, 3, 2, 1);
	made_counts(m, 1, 10, 1000, 3, 300);
	made_counts(m, 3, 2, 222, 0, 0);
	tick(m, 2);
	CHECK_EQ(model_set_interval(m, 1, 0), 0);
	must_hold(m);
	const struct change change = model_self_change(m, model_node(m, 2)), *c = &change;
	CHECK_EQ(c->born_bytes, 222);
	CHECK_EQ(c->born_blocks, 2);
	CHECK_EQ(c->gone_bytes, 300);
	CHECK_EQ(all_change(m).gone_blocks, 3);
	CHECK_EQ(model_mark_find(m, "first"), 1);
	CHECK_EQ(model_mark_find(m, "m1"), 1);
	CHECK_EQ(model_mark_find(m, "2"), -1);
	CHECK_EQ(model_set_interval(m, 0, 0), 0);
	CHECK_EQ(all_change(m).born_bytes - all_change(m).gone_bytes, 922);
	CHECK_EQ(model_set_interval(m, 7, 0), -1);
	model_free(m);
}

static void refused(struct model *m, const struct event *e, const char *because)
{
	struct err err = { 0 };
	uint64_t live = made_live(m, 0).bytes;
	uint32_t nodes = model_dense_count(m);

	if (!model_apply(m, e, &err) || !strstr(err.text, because)) {
		printf("  event %u must be refused because of \"%s\", not \"%s\"\n", e->type,
		       because, err.text);
		fflush(stdout);
		_exit(1);
	}
	CHECK_EQ(err.status, 3);
	CHECK_EQ(made_live(m, 0).bytes, live);
	CHECK_EQ(model_dense_count(m), nodes);
	must_hold(m);
}

TEST(hostile_ids_and_counters)
{
	struct model *m = family();
	struct event e = { .type = MTW_NODES };

	made_counts(m, 1, 10, 1000, 1, 100);
	tick(m, 1);
	e.u.node.id = 9;
	e.u.node.parent = 8;
	refused(m, &e, "parent");
	e.u.node.parent = 9; /* its own */
	refused(m, &e, "parent");
	e.u.node.id = MTW_NODES_MAX;
	e.u.node.parent = 1;
	refused(m, &e, "node");
	e.u.node.id = 0;
	refused(m, &e, "node 0");
	e.u.node.id = 9;
	e.u.node.module = 1;
	refused(m, &e, "module 1");
	e.u.node.id = 4; /* known as something else */
	e.u.node.module = 0;
	refused(m, &e, "twice");
	e = (struct event){ .type = MTW_SLOTS };
	e.u.slot.id = MTW_SLOTS_MAX;
	e.u.slot.node = 1;
	refused(m, &e, "slot");
	e.u.slot.id = 9;
	e.u.slot.node = 77;
	refused(m, &e, "node 77");
	e.u.slot.node = 1;
	e.u.slot.epoch = 1ull << 32;
	refused(m, &e, "epoch");
	e.u.slot.epoch = 0;
	e.u.slot.id = 1;
	refused(m, &e, "twice");
	e = (struct event){ .type = MTW_COUNTS };
	e.u.counts.slot = 9;
	refused(m, &e, "slot 9");
	e.u.counts.slot = 1;
	e.u.counts.now = (struct tally){ 9, 1000, 1, 100 };
	refused(m, &e, "shrink");
	e.u.counts.now = (struct tally){ 10, 1000, 11, 100 };
	refused(m, &e, "freed more");
	e = (struct event){ .type = MTW_TICK };
	e.u.tick.time_ns = TICK - 1;
	refused(m, &e, "time goes back");
	e = (struct event){ .type = MTW_MARK_LIVE };
	e.u.mark_live.mark = 3;
	refused(m, &e, "mark 3");
	e = (struct event){ .type = MTW_MARK };
	e.u.mark.id = MTW_MARKS_MAX;
	refused(m, &e, "out of range");
	e = (struct event){ .type = MTW_TOTALS };
	e.u.totals.sum = (struct tally){ 1, 1, 2, 1 };
	refused(m, &e, "freed more");
	e = (struct event){ .type = MTW_MODULE };
	e.u.module.id = MTW_MODULES_MAX;
	refused(m, &e, "out of range");
	model_free(m);
}

TEST(sparse_ids_cost_little)
{
	struct model *m = family();

	made_node(m, MTW_NODES_MAX - 1, 4, 0, 0x50);
	made_slot(m, MTW_SLOTS_MAX - 1, MTW_NODES_MAX - 1, 0);
	made_counts(m, MTW_SLOTS_MAX - 1, 1, 7, 0, 0);
	tick(m, 1);
	CHECK_EQ(made_live(m, 1).bytes, 7);
	CHECK(!model_node(m, 5000)->known);
	CHECK(model_node(m, MTW_NODES_MAX) == NULL);
	CHECK_EQ(model_dense_count(m), 6);
	model_free(m);
}

TEST(history_thins_and_keeps_its_ends)
{
	struct model *m = family();
	const struct point *p;
	size_t n = 0;

	for (uint64_t i = 1; i <= 100000; i++) { /* some three hours */
		struct tally sum = { i, i * 10, 0, 0 };
		made_counts(m, 1, i, i * 10, 0, 0);
		made_totals(m, &sum);
		made_tick(m, i * TICK, MTW_TICK_COMPLETE);
		n = model_history(m, &p);
		CHECK(n <= SERIES_MAX);
		CHECK_EQ(p[n - 1].time_ns, i * TICK);
		CHECK_EQ(p[n - 1].live_bytes, i * 10);
		CHECK_EQ(p[0].time_ns, TICK);
	}
	for (size_t i = 1; i < n; i++) {
		uint64_t age = p[n - 1].time_ns - p[i].time_ns,
			 gap = p[i].time_ns - p[i - 1].time_ns;
		CHECK(p[i].live_bytes == p[i].time_ns / TICK * 10);
		CHECK(gap && gap <= (age < 600 * TICK     ? TICK
				     : age < 6000 * TICK  ? 10 * TICK
				     : age < 72000 * TICK ? 100 * TICK
							  : 400 * TICK));
	}
	must_hold(m);
	model_free(m);
}

TEST(rates_are_of_the_last_second)
{
	struct model *m = family();
	struct tally sum = { 0 };

	made_tick_whole(m, &sum, TICK);
	for (uint64_t i = 1; i <= 30; i++) {
		sum = (struct tally){ i, i * 100, 0, 0 };
		made_counts(m, 2, i, i * 100, 0, 0);
		made_tick_whole(m, &sum, (i + 1) * TICK);
	}
	CHECK_EQ(model_rate(m, model_node(m, 1)).bytes, 1000);
	CHECK_EQ(model_rate(m, model_node(m, 1)).blocks, 10);
	CHECK_EQ(model_self_rate(m, model_node(m, 4)).bytes, 1000);
	for (uint64_t i = 32; i <= 43; i++)
		made_tick_whole(m, &sum, i * TICK);
	CHECK_EQ(model_rate(m, model_node(m, 1)).bytes, 0);
	model_free(m);
}

/* --- many call paths */

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
	made_tick(m, 40 * TICK, 0); /* a second without an allocation */
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

/* A small tick ends: what came meanwhile for the next one is more, and stays. */
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

#define DEEP 100u

/* Sums are kept where paths meet, and here and there on a long way. */
TEST(a_long_way_that_forks)
{
	struct model *m = model_new();
	uint64_t bytes = 0;

	made_module(m, 0, "/bin/deep", MTW_MODULE_MAIN);
	for (uint32_t i = 1; i <= DEEP; i++)
		made_node(m, i, i - 1, 0, i);
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t at = DEEP - 12 * i;
		if (i % 3 == 1) /* a fork; else an end, or a stack on the way */
			made_node(m, DEEP + i, at, 0, i);
		made_slot(m, 1 + i, i % 3 == 1 ? DEEP + i : at, 0);
		made_counts(m, 1 + i, 1, 10 + i, 0, 0);
		bytes += 10 + i;
		made_totals(m, &(struct tally){ .alloc_blocks = i + 1, .alloc_bytes = bytes });
		made_tick(m, (i + 1) * TICK, MTW_TICK_COMPLETE);
		must_hold(m);
		for (uint32_t n = 0; n < DEEP - 12 * 7; n++)
			CHECK_EQ(made_live(m, n).bytes, bytes);
	}
	CHECK_EQ(made_live(m, DEEP).bytes, 10);
	CHECK_EQ(made_live(m, DEEP - 12).bytes, 10 + 11);
	CHECK_EQ(made_live(m, DEEP - 13).bytes, 10 + 11);
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
	for (uint64_t i = 7; i <= 20; i++)
		made_tick_whole(m, &sum, i * TICK);
	late = allocated() - before;
	CHECK(late <= first + first / 50);
	made_mark(m, 1, 0, 20 * TICK, 0, "one");
	made_cells_end(m, 1);
	CHECK_EQ(model_set_interval(m, 1, 0), 0);
	CHECK_EQ(model_set_interval(m, 0, 0), 0);
	CHECK(allocated() - before <= late + 4096);
	model_free(m);
}

TEST(the_agents_memory_by_part)
{
	struct model *m = model_new();
	struct event e = { .type = MTW_MEMORY };
	const struct memory_part *parts;
	char name[MTW_NAME_MAX + 1];

	CHECK_EQ(model_memory(m, &parts), 0);
	memset(name, 'n', MTW_NAME_MAX);
	name[MTW_NAME_MAX] = 0;
	e.u.memory.count = 2;
	/* borrowed, not terminated */
	e.u.memory.parts[0].name = (struct text){ "live map and more", 8 };
	e.u.memory.parts[0].bytes = 5;
	e.u.memory.parts[1].name = made_text(name);
	CHECK_EQ(model_apply(m, &e, &made_err), 0);
	CHECK_EQ(model_memory(m, &parts), 2);
	CHECK_STR(parts[0].name, "live map");
	CHECK_EQ(parts[0].bytes, 5);
	CHECK_STR(parts[1].name, name);
	e.u.memory.count = 1; /* whole each time */
	CHECK_EQ(model_apply(m, &e, &made_err), 0);
	CHECK_EQ(model_memory(m, &parts), 1);
	model_clear(m);
	CHECK_EQ(model_memory(m, &parts), 0);
	model_free(m);
}
