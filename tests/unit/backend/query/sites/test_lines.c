/* SPDX-License-Identifier: MIT
 *
 * test_lines.c - live memory by the lines of a source file. Frames of made sessions are at line 10
 * and, inlined ones outwards, 11 and so on, of made.c.
 */
#include "check.h"
#include "made_query.h"

static size_t lines(struct session *x, const struct source_line **l)
{
	size_t n;

	CHECK(query_lines(x->q, "made.c", l, &n));
	return n;
}

TEST(lines_add_up_call_sites)
{
	struct session x;
	const struct source_line *l;
	size_t n;

	family(&x);
	/* the wrapper's line is not its */
	node(&x, 8, 1, 0, "std::vector<int>::push_back(int)|fill");
	grow(&x, 8, 2, 64);
	tick(&x, SECOND);
	CHECK_EQ(lines(&x, &l), 2);
	CHECK_EQ(l[0].number, 10);
	CHECK_EQ(l[0].live_bytes, 2750);
	CHECK_EQ(l[0].live_blocks, 4);
	CHECK_EQ(l[1].number, 11);
	CHECK_EQ(l[1].live_bytes, 64);
	CHECK(!l[1].estimate);
	CHECK(query_lines(x.q, "other.c", &l, &n));
	CHECK_EQ(n, 0);
	CHECK_EQ(lines(&x, &l), 2);
	CHECK(!query_lines(x.q, NULL, &l, &n));
	end(&x);
}

TEST(lines_follow_ticks_names_and_bases)
{
	struct session x;
	const struct source_line *l;

	family(&x);
	CHECK_EQ(lines(&x, &l), 1);
	grow(&x, 6, 1, 1000);
	shrink(&x, 7, 1, 50);
	tick(&x, SECOND);
	CHECK_EQ(lines(&x, &l), 1);
	CHECK_EQ(l[0].live_bytes, 3700);
	node(&x, 8, 3, 1, NULL); /* no name yet, no line */
	grow(&x, 8, 1, 7);
	tick(&x, SECOND);
	CHECK_EQ(lines(&x, &l), 1);
	CHECK_EQ(l[0].live_bytes, 3700);
	made_symbol(&x.s, 1, 8 * 16, "late");
	CHECK_EQ(lines(&x, &l), 1);
	CHECK_EQ(l[0].live_bytes, 3707);
	made_mark(x.m, 1, 0, x.now, 0, "m");
	made_cells_end(x.m, 1);
	tick(&x, SECOND);
	CHECK_EQ(model_set_interval(x.m, 1, 0), 0);
	grow(&x, 6, 1, 3);
	tick(&x, SECOND);
	CHECK_EQ(lines(&x, &l), 1);
	CHECK_EQ(l[0].live_bytes, 3710);
	CHECK_EQ(l[0].live_blocks, 6);
	struct err err;
	CHECK_EQ(query_set_filter(x.q, "draw", &err), 0); /* none of its business */
	CHECK_EQ(lines(&x, &l), 1);
	CHECK_EQ(l[0].live_bytes, 3710);
	model_clear(x.m);
	size_t n;
	query_lines(x.q, "made.c", &l, &n);
	CHECK_EQ(n, 0);
	end(&x);
}

/* In slices, while the program goes on: queries lend the last complete result, and the final one is
 * right. */
TEST(lines_in_slices)
{
	struct session x;
	const struct source_line *l;
	size_t n;
	uint64_t all = 2750;

	family(&x);
	for (uint32_t i = 8; i < 2000; i++) {
		node(&x, i, 3, 1, "many");
		grow(&x, i, 1, i);
		all += i;
	}
	tick(&x, SECOND);
	CHECK(query_lines(x.q, "made.c", &l, &n));
	CHECK_EQ(l[0].live_bytes, all);
	grow(&x, 8, 1, 1);
	all++;
	tick(&x, SECOND);
	CHECK(query_lines(x.q, "made.c", &l, &n));
	CHECK_EQ(n, 1);
	CHECK_EQ(l[0].live_bytes, all);
	end(&x);
}
