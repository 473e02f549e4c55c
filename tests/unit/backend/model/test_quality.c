/* SPDX-License-Identifier: MIT
 *
 * test_quality.c - the agent's cost and the quality of its stacks, from a made session.
 */
#include "check.h"
#include "made.h"
#include "model/quality.h"

#include <math.h>

#define TICK 100000000ull

static void effort(struct model *m, const struct effort *f)
{
	struct event e = { .type = MTW_STACKS };

	e.u.effort = *f;
	made_apply(m, &e);
}

/* main (1); 2: the depth limit, cut at f (3) > leaf (4) of the program and at g (5) of the library;
 * 6: no rules, at generated code (7) and at nothing at all */
static struct model *cut_session(void)
{
	struct model *m = model_new();
	struct event jit = { .type = MTW_NODES };

	made_module(m, 0, "/bin/program", MTW_MODULE_MAIN);
	made_module(m, 1, "/lib/libtile.so", 0);
	made_node(m, 1, 0, 0, 0x10);
	made_truncated(m, 2, MTW_TRUNC_DEPTH);
	made_node(m, 3, 2, 0, 0x30);
	made_node(m, 4, 3, 0, 0x40);
	made_node(m, 5, 2, 1, 0x50);
	made_truncated(m, 6, MTW_TRUNC_NO_CFI);
	jit.u.node.id = 7;
	jit.u.node.parent = 6;
	jit.u.node.kind = MTW_NODE_NOWHERE;
	jit.u.node.module = NO_ID;
	jit.u.node.offset = 0x7f0000001000;
	made_apply(m, &jit);
	static const uint32_t node_of[] = { 1, 3, 4, 5, 6, 7 };
	static const uint64_t blocks[] = { 9988, 1, 2, 5, 1, 3 };
	for (uint32_t i = 0; i < 6; i++) {
		made_slot(m, i + 1, node_of[i], 0);
		made_counts(m, i + 1, blocks[i], 100, 0, 0);
	}
	made_tick(m, TICK, 0);
	return m;
}

TEST(cut_stacks_by_reason_and_module)
{
	struct model *m = cut_session();
	struct cut *list;
	struct quality q;

	CHECK_EQ(quality_cuts(m, &list), 4);
	CHECK(list[0].reason == MTW_TRUNC_DEPTH && list[0].module == 1 && list[0].blocks == 5);
	CHECK(list[1].reason == MTW_TRUNC_NO_CFI && list[1].module == CUT_GENERATED &&
	      list[1].blocks == 3);
	CHECK(list[2].reason == MTW_TRUNC_DEPTH && list[2].module == 0 && list[2].blocks == 3);
	CHECK(list[3].reason == MTW_TRUNC_NO_CFI && list[3].module == NO_ID && list[3].blocks == 1);
	CHECK_STR(quality_module_name(m, list[1].module), "[generated code]");
	CHECK(!quality_module_name(m, list[3].module));
	quality_of(m, &q);
	CHECK_EQ(q.cut_blocks, 12);
	CHECK(q.whole > 99.87 && q.whole < 99.89);
	free(list);
	model_free(m);
}

/* 3 and 5 of the same stack were both left by their frame pointers: its blocks count once. */
TEST(stacks_by_frame_pointers)
{
	struct model *m = model_new(), *past = model_new();
	struct err err = { 0 };
	struct quality q;

	made_module(m, 0, "/bin/program", MTW_MODULE_MAIN);
	for (uint32_t id = 1; id <= 5; id++)
		made_node(m, id, id - 1, 0, 0x10 * id);
	made_proven(m, 3);
	made_proven(m, 5);
	made_proven(m, 3);
	made_slot(m, 1, 5, 0);
	made_slot(m, 2, 3, 0);
	made_slot(m, 3, 2, 0);
	for (uint32_t slot = 1; slot <= 3; slot++)
		made_counts(m, slot, slot == 3 ? 70 : 15, 100, 0, 0);
	made_tick(m, TICK, 0);
	quality_of(m, &q);
	CHECK_EQ(q.pointer_blocks, 30);
	CHECK(q.by_pointer == 30 && q.whole == 100);
	CHECK_EQ(model_seed(past, m, &err), 0);
	const struct skeleton *s = model_columns(past)->skeleton;
	for (uint32_t id = 1; id <= 5; id++)
		CHECK_EQ(bit_of(s->by_pointer_bits, skeleton_find(s, id)), id == 3 || id == 5);
	struct event e = { .type = MTW_PROVEN };
	e.u.proven.node = 9; /* was never named */
	e.u.proven.by = MTW_BY_POINTER;
	CHECK_EQ(model_apply(m, &e, &err), 0);
	CHECK_EQ(made_take(m), -1);
	model_free(past);
	model_free(m);
}

TEST(nothing_known_is_not_a_share)
{
	struct model *m = model_new();
	struct quality q;
	struct cut *list;
	char text[QUALITY_TEXT];

	quality_of(m, &q);
	CHECK(isnan(q.whole) && isnan(q.remembered) && isnan(q.frames) && isnan(q.pc_hits) &&
	      isnan(q.edge_hits));
	CHECK(isnan(q.cost.calls) && isnan(q.cost.server) && isnan(q.cost.both));
	CHECK_EQ(quality_cuts(m, &list), 0);
	free(list);
	CHECK_STR(quality_share(text, q.whole), "-");
	CHECK_STR(quality_share(text, 100), "100");
	CHECK_STR(quality_share(text, 99.9999), "99.9");
	CHECK_STR(quality_share(text, 0), "0.0");
	model_free(m);
}

TEST(what_caches_saved)
{
	struct model *m = cut_session();
	struct quality q;

	effort(m, &(struct effort){ .allocations = 10000,
				    .captures = 2500,
				    .whole = 3,
				    .frames = 10000,
				    .pc_misses = 100,
				    .edge_misses = 5000 });
	quality_of(m, &q);
	CHECK_EQ(q.remembered * 100, 7500);
	CHECK_EQ(q.frames * 100, 400);
	CHECK_EQ(q.pc_hits * 100, 9900);
	CHECK_EQ(q.edge_hits * 100, 5000);
	effort(m, &(struct effort){ .allocations = 5, .captures = 8, .frames = 2, .pc_misses = 3 });
	quality_of(m, &q); /* counted at different moments: never below nothing */
	CHECK_EQ(q.remembered, 0);
	CHECK_EQ(q.pc_hits, 0);
	made_weighed(m, 1, 4096);
	made_tick(m, 2 * TICK, 0);
	quality_of(m, &q);
	CHECK(isnan(q.remembered)); /* of samples it cannot be told */
	CHECK(!isnan(q.frames));
	model_free(m);
}

static int hundredths(double percent)
{
	return isnan(percent) ? -1 : (int)(percent * 100 + 0.5);
}

TEST(cost_is_a_part_of_all_cpu_time)
{
	struct model *m = cut_session();
	struct event e = { .type = MTW_TOTALS };
	struct quality q;
	char text[QUALITY_TEXT];

	/* in units of 10 ms: time, program, calls, their error, server; then percent times 100, -1
	 * = cannot be told */
	static const struct {
		uint64_t time, program, calls, error, server;
		int of_calls, of_server, both, within, core;
	} cases[] = {
		{ 2000, 1100, 100, 30, 100, 833, 833, 1667, 250, 1000 },
		/* it ended before it cost anything but the start */
		{ 5, 3, 1, 1, 2, -1, -1, -1, -1, -1 },
		/* it sleeps: the server ticks all the same */
		{ 100000, 9000, 100, 30, 1000, -1, -1, -1, -1, 110 },
		{ 100000, 0, 100, 30, 1000, -1, -1, -1, -1, 100 },
		{ 100000, 10101, 100, 0, 1000, 90, 901, 991, 0, 110 },
		/* an estimate that is too high */
		{ 1000, 900, 5000, 2000, 100, 9000, 1000, 10000, 10000, 10000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		e.u.totals = *model_totals(m);
		e.u.totals.time_ns = cases[i].time * TICK / 10;
		e.u.totals.target_cpu_ns = cases[i].program * TICK / 10;
		e.u.totals.hook_ns = cases[i].calls * TICK / 10;
		e.u.totals.hook_error_ns = cases[i].error * TICK / 10;
		e.u.totals.agent_cpu_ns = cases[i].server * TICK / 10;
		made_apply(m, &e);
		made_tick(m, (2 + i) * TICK, 0);
		quality_of(m, &q);
		CHECK_EQ(hundredths(q.cost.calls), cases[i].of_calls);
		CHECK_EQ(hundredths(q.cost.server), cases[i].of_server);
		CHECK_EQ(hundredths(q.cost.both), cases[i].both);
		CHECK_EQ(hundredths(q.cost.error), cases[i].within);
		CHECK_EQ(hundredths(q.of_a_core), cases[i].core);
		if (!i)
			CHECK_STR(quality_within(text, &q.cost), "16.7 +- 2.5");
	}
	model_free(m);
}
