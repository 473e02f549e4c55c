/* SPDX-License-Identifier: MIT
 *
 * test_inlined.c - inlined functions as rows of the call tree, and merged into the function that
 * contains them.
 */
#include "check.h"
#include "made_query.h"

TEST(inlined_frames_are_rows)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },
		{ 2, 1, 0, "push|grow|serve", 100 },
		{ 3, 1, 0, "log_line", 10 },
	};
	struct session x;

	BEGIN_WITH(&x, paths);
	open_row(&x, "main");
	CHECK_STR(screen(&x, true), "main 110\n.serve > grow > push 100\n.log_line 10");
	const struct row *r;
	query_rows(x.q, false, &r);
	CHECK_EQ(r[1].folded, 3);
	CHECK(r[1].flags & ROW_INLINED);
	query_unfold(x.q, r[1].id);
	CHECK_STR(screen(&x, true), "main 110\n.serve 100\n..grow > push 100\n.log_line 10");
	query_unfold(x.q, row(&x, "serve"));
	CHECK_STR(screen(&x, true), "main 110\n.serve > grow > push 100\n.log_line 10");
	end(&x);
}

/* Rows of a function hold nodes that call from it itself, and nodes that call from what is inlined
 * into it. */
static void searched_from_the_top(const char *name, const char *expect)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },
		{ 2, 1, 0, "serve", 0 },
		{ 3, 1, 0, "grow|push|serve", 0 },
		{ 4, 2, 1, "decode", 0 },
		{ 5, 3, 1, "draw", 0 },
		{ 6, 5, 1, "line", 300 },
		{ 7, 5, 1, "box", 200 },
		{ 8, 4, 1, "bits", 30 },
		{ 9, 4, 1, "bytes", 20 },
	};
	struct session x;
	size_t pending;

	BEGIN_WITH(&x, paths);
	CHECK_STR(screen(&x, true), "main > serve 550");
	query_search(x.q, name);
	CHECK_EQ(query_hits(x.q, &pending), 1);
	CHECK_STR(screen(&x, true), expect);
	CHECK_EQ(query_search_next(x.q, 0, false), row(&x, name));
	end(&x);
}

TEST(search_opens_rows_below_inlined_functions)
{
	searched_from_the_top(
		"box",
		"main > serve 550\n.push > grow > draw 500\n..line 300\n..box 200\n.decode 50");
	searched_from_the_top(
		"bytes",
		"main > serve 550\n.push > grow > draw 500\n.decode 50\n..bits 30\n..bytes 20");
}

/* main > serve, whose inlined push (of two) and grow call decode and draw; and log_line. */
static void inlined_family(struct session *x)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },       { 2, 1, 0, "grow|push|serve", 0 },
		{ 3, 1, 0, "push|serve", 5 }, { 4, 2, 1, "decode", 400 },
		{ 5, 3, 1, "decode", 300 },   { 6, 3, 1, "draw", 0 },
		{ 7, 6, 1, "line", 2000 },    { 8, 6, 1, "box", 1000 },
		{ 9, 1, 0, "log_line", 50 },
	};

	BEGIN_WITH(x, paths);
}

/* What the rows add up to, self and all, in what order they may stand. */
static uint64_t selves(struct session *x)
{
	const struct row *r;
	uint64_t sum = 0;

	query_open_below(x->q, 0, true, SIZE_MAX);
	size_t n = query_rows(x->q, false, &r);
	for (size_t i = 0; i < n; i++)
		sum += live_bytes(&r[i].self);
	return sum;
}

TEST(inlined_frames_are_merged)
{
	struct session x;
	const struct row *r;

	inlined_family(&x);
	open_row(&x, "main");
	open_row(&x, "serve > push");
	open_row(&x, "draw");
	const char *apart = "main 3755\n.serve > push 3705\n..draw 3000\n...line 2000\n...box "
			    "1000\n..grow > decode 400\n..decode 300\n"
			    ".log_line 50";
	CHECK_STR(screen(&x, true), apart);
	row_id serve = row(&x, "serve > push"), draw = row(&x, "draw"), line = row(&x, "line");
	query_set_inlined(x.q, false);
	CHECK(!query_inlined(x.q));
	CHECK_STR(screen(&x, true), "main 3755\n.serve 3705\n..draw 3000\n...line 2000\n...box "
				    "1000\n..decode 700\n.log_line 50");
	/* ids stay where the function does; what the inlined one allocated is serve's own */
	CHECK_EQ(row(&x, "serve"), serve);
	CHECK_EQ(row(&x, "draw"), draw);
	CHECK_EQ(row(&x, "line"), line);
	query_rows(x.q, false, &r);
	CHECK_EQ(live_bytes(&r[1].self), 5);
	CHECK(!(r[1].flags & ROW_INLINED));
	grow(&x, 4, 1, 100);        /* what arrives finds its way, */
	node(&x, 10, 2, 1, "late"); /* so does what is new */
	grow(&x, 10, 1, 30);
	tick(&x, SECOND);
	CHECK_STR(screen(&x, false), "main 3885\n.serve 3835\n..draw 3000\n...line 2000\n...box "
				     "1000\n..decode 800\n..late 30\n.log_line 50");
	CHECK_EQ(selves(&x), 3885);
	query_set_inlined(x.q, true);
	CHECK_STR(screen(&x, true), "main 3885\n.serve > push 3835\n..draw 3000\n...line "
				    "2000\n...box 1000\n..grow 530\n...decode 500\n...late 30\n"
				    "..decode 300\n.log_line 50");
	CHECK_EQ(row(&x, "draw"), draw);
	CHECK_EQ(selves(&x), 3885);
	end(&x);
}

TEST(inlined_frames_are_merged_in_the_inverted_tree)
{
	struct session x;

	inlined_family(&x);
	query_set_inverted(x.q, true);
	screen(&x, true);
	open_row(&x, "line");
	open_row(&x, "decode");
	open_row(&x, "push");
	CHECK_STR(screen(&x, true),
		  "line 2000\n.draw < push < serve < main 2000\nbox 1000\ndecode 700\n.grow < push "
		  "< serve < main 400\n"
		  ".push < serve < main 300\nlog_line 50\npush 5\n.serve < main 5");
	row_id decode = row(&x, "decode");
	query_set_inlined(x.q, false);
	CHECK_STR(screen(&x, true), "line 2000\n.draw < serve < main 2000\nbox 1000\ndecode "
				    "700\n.serve < main 700\nlog_line 50\nserve 5");
	CHECK_EQ(row(&x, "decode"), decode);
	uint64_t sum = selves(&x);
	query_set_inlined(x.q, true);
	CHECK_EQ(selves(&x), sum);
	CHECK_EQ(sum, 3755);
	end(&x);
}

/* A closed one stays closed, and a chain is what its line was. */
TEST(rows_below_merged_ones_are_open_as_they_were)
{
	struct session x;

	inlined_family(&x);
	open_row(&x, "main");
	screen(&x, true);
	CHECK_STR(screen(&x, true), "main 3755\n.serve > push 3705\n.log_line 50");
	query_set_inlined(x.q, false);
	CHECK_STR(screen(&x, true), "main 3755\n.serve 3705\n.log_line 50");
	open_row(&x, "serve");
	screen(&x, true);
	query_set_inlined(x.q, true);
	CHECK_STR(screen(&x, true), "main 3755\n.serve > push 3705\n..draw 3000\n..grow > decode "
				    "400\n..decode 300\n.log_line 50");
	end(&x);
}

TEST(a_zoom_stays_in_a_row_that_stays)
{
	struct session x;
	size_t pending;

	inlined_family(&x);
	open_row(&x, "main");
	open_row(&x, "serve > push");
	screen(&x, true);
	CHECK_EQ(query_zoom(x.q, row(&x, "draw")), 0);
	CHECK_STR(screen(&x, true), "draw 3000\n.line 2000\n.box 1000");
	query_set_inlined(x.q, false);
	CHECK_STR(screen(&x, true), "draw 3000\n.line 2000\n.box 1000");
	CHECK_EQ(query_zoom_depth(x.q), 1);
	query_search(x.q, "push");
	CHECK_EQ(query_hits(x.q, &pending), 0); /* it has no row */
	query_search(x.q, "");
	CHECK_EQ(query_hits(x.q, &pending), 0);
	query_set_inlined(x.q, true);
	query_search(x.q, "push");
	CHECK_EQ(query_hits(x.q, &pending), 2);
	CHECK_EQ(query_zoom(x.q, 0), 0);
	query_unfold(x.q, row(&x, "serve > push"));
	screen(&x, true);
	CHECK_EQ(query_zoom(x.q, row(&x, "push")), 0);
	CHECK(strncmp(screen(&x, true), "push 3705\n", 10) == 0);
	query_set_inlined(x.q, false); /* it is merged: out of it */
	CHECK(strncmp(screen(&x, true), "main 3755\n.serve 3705\n", 22) == 0);
	CHECK_EQ(query_zoom_depth(x.q), 0);
	end(&x);
}
