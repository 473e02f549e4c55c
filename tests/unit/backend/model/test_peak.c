/* SPDX-License-Identifier: MIT
 *
 * test_peak.c - the counters at the heap's peak: parts, a later peak, contradictions, and the model
 * of that instant.
 */
#include "check.h"
#include "made.h"

#define TICK 100000000ull

struct of_slot {
	uint32_t slot;
	struct tally then;
};

static int part(struct model *m, uint32_t serial, uint32_t flags, uint64_t time_ns,
		const struct tally *sum, const struct of_slot *list, size_t count)
{
	struct err err = { 0 };
	struct event e = { .type = MTW_PEAK };
	int rc = 0;

	e.u.peak.serial = serial;
	e.u.peak.time_ns = time_ns;
	e.u.peak.sum = *sum;
	e.u.peak.flags = flags & MTW_PART_FIRST;
	rc |= model_apply(m, &e, &err);
	e.u.peak.flags = 0;
	for (size_t i = 0; i < count; i++) {
		e.u.peak.slot = list[i].slot;
		e.u.peak.then = list[i].then;
		rc |= model_apply(m, &e, &err);
	}
	e.u.peak.slot = 0;
	e.u.peak.flags = flags & MTW_PART_LAST;
	rc |= e.u.peak.flags ? model_apply(m, &e, &err) : 0;
	return rc | made_take(m);
}

static const struct tally first_sum = { 30, 3000, 2, 200 }, next_sum = { 35, 3500, 2, 200 };
static const struct of_slot first[] = { { 1, { 10, 1000, 2, 200 } }, { 2, { 20, 2000, 0, 0 } } },
			    next[] = { { 2, { 25, 2500, 0, 0 } } };
static const uint32_t whole = MTW_PART_FIRST | MTW_PART_LAST;

/* main (1) > a (2), b (3); slot 1 at a, 2 at b, and 3, which came after the peak. */
static struct model *family(void)
{
	struct event e = { .type = MTW_HELLO };
	struct model *m = model_new();

	e.u.hello.pid = 7;
	e.u.hello.exe = e.u.hello.arch = e.u.hello.agent_version = e.u.hello.options =
		made_text("family");
	made_apply(m, &e);
	made_module(m, 0, "/bin/family", MTW_MODULE_MAIN);
	made_node(m, 1, 0, 0, 0x10);
	made_node(m, 2, 1, 0, 0x20);
	made_node(m, 3, 1, 0, 0x30);
	made_slot(m, 1, 2, 0);
	made_slot(m, 2, 3, 0);
	made_slot(m, 3, 3, 1);
	made_counts(m, 1, 40, 4000, 40, 4000);
	made_counts(m, 2, 41, 4100, 40, 4000);
	made_counts(m, 3, 1, 10, 0, 0);
	made_tick_whole(m, &(struct tally){ 82, 8110, 80, 8000 }, 9 * TICK);
	return m;
}

TEST(in_parts_and_a_later_one)
{
	struct model *m = family();

	CHECK(!model_peak(m));
	CHECK_EQ(part(m, 1, MTW_PART_FIRST, TICK, &first_sum, first, 1), 0);
	CHECK(!model_peak(m));
	CHECK_EQ(part(m, 1, MTW_PART_LAST, TICK, &first_sum, first + 1, 1), 0);
	CHECK_EQ(model_peak(m)->time_ns, TICK);
	CHECK_EQ(model_peak(m)->sum.alloc_bytes, 3000);
	/* begun, and begun anew with the one after it: the one that is whole stays until then */
	CHECK_EQ(part(m, 2, MTW_PART_FIRST, 2 * TICK, &next_sum, next, 1), 0);
	CHECK_EQ(model_peak(m)->time_ns, TICK);
	CHECK_EQ(part(m, 3, whole, 3 * TICK, &next_sum, next, 1), 0);
	CHECK_EQ(model_peak(m)->time_ns, 3 * TICK);
	CHECK_EQ(model_peak(m)->sum.alloc_bytes, 3500);
	/* the end of one whose beginning was not seen */
	CHECK_EQ(part(m, 5, MTW_PART_LAST, 4 * TICK, &next_sum, next, 1), 0);
	CHECK_EQ(model_peak(m)->time_ns, 3 * TICK);
	model_free(m);
}

TEST(contradictions_are_refused)
{
	static const struct of_slot unknown = { 9, { 1, 1, 0, 0 } },
				    shrunk = { 2, { 19, 2000, 0, 0 } },
				    freed = { 2, { 20, 2000, 21, 0 } };
	struct model *m = family();

	CHECK_EQ(part(m, 1, whole, TICK, &first_sum, first, 2), 0);
	CHECK_EQ(part(m, 2, MTW_PART_FIRST, TICK, &first_sum, &unknown, 1), -1);
	CHECK_EQ(part(m, 3, whole, TICK, &first_sum, &shrunk, 1), -1);
	CHECK_EQ(part(m, 4, MTW_PART_FIRST, TICK, &first_sum, &freed, 1), -1);
	CHECK(model_peak(m) != NULL);
	CHECK_EQ(part(m, 5, whole, TICK, &first_sum, next, 1), -1); /* other totals */
	CHECK(!model_peak(m));
	CHECK_EQ(part(m, 6, whole, TICK, &first_sum, first, 2), 0); /* over a new link */
	CHECK(model_peak(m) != NULL);
	model_free(m);
}

TEST(the_model_of_that_instant)
{
	struct model *m = family(), *then = model_new();
	struct err err = { 0 };

	made_mark(m, 1, 0, TICK / 2, 0, "before");
	made_mark(m, 2, 1, 5 * TICK, 0, "after");
	CHECK_EQ(part(m, 1, whole, 2 * TICK, &first_sum, first, 2), 0);
	CHECK_EQ(model_recall(then, m, KEPT_PEAK, &err), 0);
	must_hold(then);
	CHECK(model_complete(then));
	CHECK_EQ(model_time(then), 2 * TICK);
	CHECK_EQ(model_program(then)->pid, 7);
	CHECK_EQ(made_nodes(then), made_nodes(m));
	CHECK_EQ(live_bytes(&model_totals(then)->sum), 2800);
	CHECK_EQ(made_live(then, 2).bytes, 800);
	CHECK_EQ(made_live(then, 3).bytes, 2000);
	CHECK_EQ(made_live(then, 1).blocks, 28);
	CHECK_EQ(made_now(then, 3).alloc_blocks, 0);
	CHECK(model_mark(then, 1)->known);
	CHECK(!model_mark(then, 2) || !model_mark(then, 2)->known); /* of later */
	model_swap(m, then);
	CHECK_EQ(live_bytes(&model_totals(m)->sum), 2800);
	CHECK(model_peak(then) != NULL);
	model_free(then);
	model_free(m);
}

/* The slot of the first epoch allocates no more; of the second one nothing was there. */
TEST(the_model_of_a_mark)
{
	struct model *m = family(), *then = model_new();
	struct err err = { 0 };

	made_mark(m, 1, 0, 5 * TICK, 0, "between");
	CHECK_EQ(model_kept_at(m, 5 * TICK), NO_ID); /* its cells are missing */
	made_cell(m, 1, 1, 10, 1000);
	made_cells_end(m, 1);
	CHECK_EQ(model_kept_at(m, 5 * TICK), 1);
	CHECK_EQ(model_kept_at(m, 5 * TICK + 1), NO_ID);
	CHECK_EQ(model_recall(then, m, 1, &err), 0);
	must_hold(then);
	CHECK_EQ(model_time(then), 5 * TICK);
	CHECK_EQ(made_now(then, 1).alloc_blocks, 40);
	CHECK_EQ(made_now(then, 1).free_bytes, 3000);
	CHECK_EQ(made_now(then, 2).free_blocks, 41);
	CHECK_EQ(made_now(then, 3).alloc_blocks, 0);
	CHECK_EQ(live_bytes(&model_totals(then)->sum), 1000);
	CHECK_EQ(model_totals(then)->sum.alloc_blocks, 81);
	CHECK(model_mark_says(then, 1));
	model_free(then);
	model_free(m);
}

/* More than the agent sends at the start of a link. */
TEST(the_curve_up_to_it)
{
	struct model *m = family(), *then = model_new();
	const struct point *of, *to;
	struct err err = { 0 };
	size_t n, count;

	for (uint64_t t = 10; t <= 1000; t++)
		made_tick_whole(m, &(struct tally){ 82, 8110, 80, 8000 }, t * TICK);
	CHECK_EQ(part(m, 1, whole, 900 * TICK, &first_sum, first, 2), 0);
	CHECK_EQ(model_recall(then, m, KEPT_PEAK, &err), 0);
	must_hold(then);
	n = model_history(then, &to);
	count = model_history(m, &of);
	CHECK(n > 700 && n < count);
	for (size_t i = 0; i + 1 < n; i++)
		CHECK(!memcmp(&of[i], &to[i], sizeof *of));
	CHECK_EQ(to[n - 1].time_ns, 900 * TICK);
	model_free(then);
	model_free(m);
}
