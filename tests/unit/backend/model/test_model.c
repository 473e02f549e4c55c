/* SPDX-License-Identifier: MIT
 *
 * test_model.c - the session's sums, by hand: marks, rates, history, estimates, hostile events.
 */
#include "check.h"
#include "made.h"
#include "model/columns.h"
#include "model/history/history.h"
#include "model/interval.h"

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

	self = made_amounts(m, node, false).sum;
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
	CHECK_EQ(made_amounts(m, 0, true).sum.alloc_bytes, 1050);
	made_counts(m, 2, 6, 60, 1, 10);
	made_counts(m, 2, 7, 70, 2, 20); /* twice in a step: the last counts */
	tick(m, 2);
	CHECK_EQ(made_live(m, 1).bytes, 650);
	CHECK_EQ(made_amounts(m, 1, true).sum.alloc_bytes, 1070);
	model_free(m);
}

static int greet(struct model *m, bool apart, uint64_t first_epoch)
{
	struct event e = { .type = MTW_HELLO };

	e.u.hello.pid = 7;
	e.u.hello.exe = e.u.hello.arch = e.u.hello.agent_version = e.u.hello.options =
		made_text("");
	e.u.hello.forked = true;
	e.u.hello.inherits_apart = apart;
	e.u.hello.first_epoch = first_epoch;
	return model_apply(m, &e, &made_err);
}

/* Slots of epochs before the fork's first: 0 and 1 of 0 to 2. */
TEST(what_a_fork_inherited)
{
	struct tally sum;

	for (int apart = 0; apart < 2; apart++) {
		struct model *m = family();
		CHECK(!model_inherited(m, &sum)); /* nobody greeted */
		CHECK_EQ(greet(m, apart, apart ? 2 : 0), 0);
		made_slot(m, 3, 4, 1);
		made_slot(m, 4, 4, 2);
		made_counts(m, 1, 10, 1000, 4, 400);
		made_counts(m, 3, 5, 50, 0, 0);
		made_counts(m, 4, 100, 10000, 0, 0);
		tick(m, 1);
		CHECK(!model_inherited(m, &sum)); /* the first state comes */
		made_tick(m, 2 * TICK, MTW_TICK_COMPLETE);
		CHECK_EQ(model_inherited(m, &sum), apart);
		CHECK_EQ(live_bytes(&sum), apart ? 650 : 0);
		CHECK_EQ(sum.alloc_blocks, apart ? 15 : 0);
		made_counts(m, 3, 5, 50, 5, 50); /* the child frees */
		made_counts(m, 4, 101, 10100, 0, 0);
		tick(m, 3);
		model_inherited(m, &sum);
		CHECK_EQ(live_bytes(&sum), apart ? 600 : 0);
		/* a renewed link */
		CHECK_EQ(greet(m, apart, apart ? 2 : 0), 0);
		CHECK(!model_inherited(m, &sum));
		made_tick(m, 4 * TICK, MTW_TICK_COMPLETE);
		CHECK_EQ(model_inherited(m, &sum), apart);
		CHECK_EQ(live_bytes(&sum), apart ? 600 : 0);
		CHECK_EQ(greet(m, true, 1), 0); /* an older memtop's key frame said less */
		made_tick(m, 5 * TICK, MTW_TICK_COMPLETE);
		CHECK(model_inherited(m, &sum));
		CHECK_EQ(live_bytes(&sum), 600);
		CHECK_EQ(sum.alloc_blocks, 10);
		tick(m, 6);
		model_free(m);
	}
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
	CHECK(model_estimate(m) && made_amounts(m, 4, false).sampled);
	CHECK(made_amounts(m, 3, true).sampled && made_amounts(m, 1, true).sampled);
	CHECK(!made_amounts(m, 2, true).sampled && !made_amounts(m, 3, false).sampled);
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
	CHECK_EQ(model_apply(m, &e, &made_err), 0);
	CHECK_EQ(made_take(m), -1);
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
	CHECK(model_estimate(m) && made_amounts(m, 4, false).sampled);
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
	const struct change change = made_amounts(m, 2, false).change, *c = &change;
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

/* What a mark that left the chain held is the next one's; into the first one goes no empty cell. */
TEST(cells_of_marks_that_left)
{
	struct model *m = family();

	made_counts(m, 1, 10, 1000, 0, 0);
	made_counts(m, 2, 10, 70000000000, 0, 0);
	tick(m, 1);
	for (uint32_t id = 1; id <= 4; id++)
		made_mark(m, id, 0, id, 0, "");
	made_cell(m, 1, 2, 5, 70000000000); /* not by slot, and one twice */
	made_cell(m, 1, 1, 10, 1000);
	made_cell(m, 1, 2, 5, 60000000000);
	made_cell(m, 2, 1, 0, 0);
	made_cell(m, 3, 1, 3, 30);
	made_cell(m, 4, 2, 0, 0);
	for (uint32_t id = 1; id <= 4; id++)
		made_cells_end(m, id);
	CHECK_EQ(model_mark(m, 1)->cells.count, 2);
	made_mark(m, 3, 0, 3, MTW_MARK_DROPPED, "");
	CHECK_EQ(model_mark(m, 4)->cells.count, 2);
	made_mark(m, 1, 0, 1, MTW_MARK_DROPPED, "");
	struct cell_at x = { 0 };
	struct mark_cell cell;
	CHECK_EQ(model_mark(m, 2)->cells.count, 1);
	CHECK(cells_next(&model_mark(m, 2)->cells, &x, &cell));
	CHECK(cell.slot == 2 && cell.blocks == 5 && cell.bytes == 60000000000);
	made_mark(m, 2, 0, 2, MTW_MARK_DROPPED, "");
	CHECK_EQ(model_mark(m, 4)->cells.count, 1);
	x = (struct cell_at){ 0 };
	CHECK(cells_next(&model_mark(m, 4)->cells, &x, &cell));
	CHECK(cell.slot == 1 && cell.blocks == 3 && cell.bytes == 30);
	model_free(m);
}

/* Each takes memory until the tick. */
TEST(counters_without_a_tick_end)
{
	struct model *m = family();
	struct event e = { .type = MTW_COUNTS };
	struct err err = { 0 };
	int rc = 0;

	e.u.counts.slot = 1;
	for (uint32_t i = 1; !rc && i < 1u << 21; i++) {
		e.u.counts.now = (struct tally){ i, i, 0, 0 };
		rc = model_apply(m, &e, &err);
	}
	CHECK_EQ(rc, -1);
	CHECK_STR(err.text, "stream: counters without end, and no tick; connect again");
	model_free(m);
}

/* Somebody reads what was alive at a mark while the marks before it go. */
TEST(a_chain_of_marks_stays_as_it_was)
{
	struct model *m = family();

	made_counts(m, 1, 10, 1000, 0, 0);
	made_counts(m, 2, 10, 7000, 0, 0);
	tick(m, 1);
	for (uint32_t id = 1; id <= 3; id++)
		made_mark(m, id, 0, id, 0, "");
	made_cell(m, 1, 1, 10, 1000);
	made_cell(m, 2, 2, 5, 3500);
	made_cell(m, 3, 1, 3, 30);
	for (uint32_t id = 1; id <= 3; id++)
		made_cells_end(m, id);
	const struct slots *slots = model_columns(m)->slots;
	struct mark_chain x = mark_chain(m, 2);
	CHECK_EQ(mark_chain(m, 4).count, 0);
	made_mark(m, 1, 0, 1, MTW_MARK_DROPPED, "");
	made_mark(m, 2, 0, 2, MTW_MARK_DROPPED, "");
	made_cell(m, 3, 1, 9, 90); /* sent again */
	made_cells_end(m, 3);
	struct live *held = mark_chain_live(&x, slots);
	uint32_t one = slots_find(slots, 1), two = slots_find(slots, 2);
	CHECK(held[one].blocks == 10 && held[one].bytes == 1000);
	CHECK(held[two].blocks == 5 && held[two].bytes == 3500);
	free(held);
	mark_chain_drop(&x);
	model_free(m);
}

/* At once, or with the next event. */
static void refused(struct model *m, const struct event *e, const char *because)
{
	struct event next = { .type = MTW_STATE };
	struct err err = { 0 };
	uint64_t live = made_live(m, 0).bytes;
	uint32_t nodes = made_nodes(m);

	if ((!model_apply(m, e, &err) && !model_apply(m, &next, &err)) ||
	    !strstr(err.text, because)) {
		printf("  event %u must be refused because of \"%s\", not \"%s\"\n", e->type,
		       because, err.text);
		fflush(stdout);
		_exit(1);
	}
	CHECK_EQ(err.status, 3);
	CHECK_EQ(made_live(m, 0).bytes, live);
	CHECK_EQ(made_nodes(m), nodes);
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
	CHECK_EQ(skeleton_find(model_heap(m)->skeleton, 5000), NO_ID);
	CHECK_EQ(skeleton_find(model_heap(m)->skeleton, MTW_NODES_MAX), NO_ID);
	CHECK_EQ(made_nodes(m), 6);
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

static void list_samples(struct model *m, uint32_t from, uint32_t to)
{
	struct event e = { .type = MTW_SAMPLES };

	for (uint32_t serial = from; serial <= to; serial++)
		e.u.samples.list[e.u.samples.count++] =
			(struct sample_figures){ .serial = serial, .time_ns = serial * TICK };
	made_apply(m, &e);
}

static void sample_cell(struct model *m, uint32_t serial, uint32_t slot, uint64_t bytes)
{
	struct event e = { .type = MTW_SAMPLE_LIVE };

	e.u.mark_live.mark = serial;
	e.u.mark_live.slot = slot;
	e.u.mark_live.blocks = 1;
	e.u.mark_live.bytes = bytes;
	e.u.mark_live.end = !slot;
	made_apply(m, &e);
}

TEST(of_samples_that_go_together_the_newest_wins)
{
	struct model *m = family();
	const struct sample *list;

	for (uint32_t serial = 1; serial <= 4; serial++) {
		list_samples(m, 1, serial);
		sample_cell(m, serial, serial < 4 ? 1 : 2, 10 * serial);
		sample_cell(m, serial, 0, 0);
	}
	list_samples(m, 4, 4);
	CHECK_EQ(model_samples(m, &list), 1);
	CHECK_EQ(list[0].cells.count, 2);
	struct cell_at x = { 0 };
	struct mark_cell cell;
	CHECK(cells_next(&list[0].cells, &x, &cell));
	CHECK_EQ(cell.slot, 1);
	CHECK_EQ(cell.bytes, 30);
	CHECK(cells_next(&list[0].cells, &x, &cell));
	CHECK_EQ(cell.bytes, 40);
	CHECK(!cells_next(&list[0].cells, &x, &cell));
	model_free(m);
}

TEST(instants_thin_out_by_age_and_those_of_marks_stay)
{
	struct model *m = family();
	const struct instant *list;
	size_t n = 0, young = 0, at_mark = 0;

	for (uint64_t i = 1; i <= 200000; i++) {
		struct event e = { .type = MTW_MARK };
		made_counts(m, 1, i, i * 10, 0, 0);
		made_tick(m, i * TICK, MTW_TICK_COMPLETE);
		if (i == 7777) {
			e.u.mark.id = 1;
			e.u.mark.flags = MTW_MARK_TOTALS_ONLY;
			e.u.mark.time_ns = i * TICK + TICK / 2;
			made_apply(m, &e);
		}
		CHECK(model_instants(m, &list) <= INSTANTS_MAX);
	}
	n = model_instants(m, &list);
	CHECK_EQ(list[0].time_ns, TICK);
	CHECK_EQ(list[n - 1].time_ns, 200000 * TICK);
	for (size_t i = 1; i < n; i++) {
		uint64_t gap = (list[i].time_ns - list[i - 1].time_ns) / TICK;
		CHECK(gap && gap <= 600); /* a minute: none is a day old */
		young += gap == 1;
		at_mark += list[i].ticks == 7777;
	}
	CHECK_EQ(at_mark, 1);
	CHECK(young >= 600);
	CHECK(n < INSTANTS_MAX);
	model_free(m);
}

static void scanned(struct model *m, uint32_t thread, uint64_t blocks, uint64_t bytes)
{
	struct event e = { .type = MTW_SCAN_THREADS };

	e.u.scan_thread.request = 1;
	e.u.scan_thread.thread = thread;
	e.u.scan_thread.blocks = blocks;
	e.u.scan_thread.bytes = bytes;
	made_apply(m, &e);
}

/* A scan sums the threads that it has no room for in thread 0, of which no other frame tells. */
TEST(threads_that_a_scan_sums_up_are_known)
{
	struct model *m = family();

	scanned(m, 0, 0, 0);
	scanned(m, 7, 1, 10);
	CHECK(!model_thread(m, 0)->known);
	scanned(m, 0, 3, 300);
	CHECK(model_thread(m, 0)->known);
	CHECK_EQ(model_thread(m, 0)->live_bytes, 300);
	model_free(m);
}

/* Two stops, the second of several that were joined, and one that lasts. */
TEST(running_time_is_session_time_without_stops)
{
	struct model *m = model_new();
	struct event e = { .type = MTW_STOPS };

	CHECK_EQ(model_running(m, 70), 70);
	CHECK(!model_stopped(m));
	e.u.stops.count = 3;
	e.u.stops.list[0] = (struct stop){ 10, 20, 10, 1, MTW_STOP_SIGNAL, 0, "" };
	e.u.stops.list[1] = (struct stop){ 30, 50, 10, 7, MTW_STOP_TRACED, 9, "gdb" };
	e.u.stops.list[2] = (struct stop){ 90, UINT64_MAX, 0, 1, MTW_STOP_FROZEN, 0, "" };
	made_apply(m, &e);
	static const uint64_t at[][2] = { { 0, 0 },     { 10, 10 }, { 15, 10 }, { 20, 10 },
					  { 30, 20 },   { 40, 25 }, { 50, 30 }, { 90, 70 },
					  { 1000, 70 }, { 91, 70 } };
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		CHECK_EQ(model_running(m, at[i][0]), at[i][1]);
	CHECK_EQ(model_stopped(m)->why, MTW_STOP_FROZEN);
	CHECK_EQ(model_stops(m)->count, 3);
	model_clear(m);
	CHECK_EQ(model_running(m, 70), 70);
	model_free(m);
}
