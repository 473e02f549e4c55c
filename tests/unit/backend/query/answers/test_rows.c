/* SPDX-License-Identifier: MIT
 *
 * test_rows.c - rows of the call tree by hand: grouping, folding, filter, search, zoom, order.
 */
#include "check.h"
#include "made_query.h"
#include "random.h"

TEST(one_function_is_one_row)
{
	struct session x;

	family(&x);
	CHECK_STR(screen(&x, true), "main 2750");
	open_row(&x, "main");
	CHECK_STR(screen(&x, true), "main 2750\n.serve 2700\n.log_line 50");
	open_row(&x, "serve");
	CHECK_STR(screen(&x, true),
		  "main 2750\n.serve 2700\n..draw 2000\n..decode 700\n.log_line 50");
	const struct row *r;
	query_rows(x.q, false, &r);
	CHECK_EQ(r[1].paths, 2);
	CHECK_EQ(r[3].paths, 2);
	CHECK_EQ(r[3].node, 4);
	CHECK_STR(r[3].owner->name, "libtile.so.2");
	CHECK_EQ(r[3].flags & (ROW_LEAF | ROW_OPEN), ROW_LEAF);
	CHECK_EQ(live_bytes(&r[1].self), 0);
	CHECK_EQ(live_bytes(&r[3].self), 700);
	end(&x);
}

/* A chain's place is its most telling function, not the template library's allocation. */
TEST(chains_are_named_by_what_tells)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },
		{ 2, 1, 0,
		  "std::allocator<char>::allocate()|Session::Session()|std::make_shared<S>()",
		  100 },
		{ 3, 1, 0, "log_line", 0 },
		{ 4, 3, 2, "fopen", 10 },
		{ 5, 1, 0, "operator new(unsigned long)|std::string::_M_create()", 1 },
	};
	struct session x;
	const struct row *r;

	BEGIN_WITH(&x, paths);
	open_row(&x, "main");
	CHECK_EQ(query_rows(x.q, true, &r), 4);
	CHECK_EQ(r[1].folded, 3);
	CHECK_EQ(r[1].named, 2);
	CHECK_STR(r[1].function, "Session::Session()");
	CHECK_EQ(r[1].node, 2);
	CHECK_EQ(r[2].named, 2);
	CHECK_STR(r[2].function, "fopen");
	CHECK_EQ(r[3].named, 2); /* all the same: the last */
	CHECK_STR(r[3].function, "operator new(unsigned long)");
	end(&x);
}

TEST(rows_keep_their_numbers_and_places)
{
	struct session x;

	family(&x);
	open_row(&x, "main");
	row_id serve = row(&x, "serve"), logs = row(&x, "log_line");
	for (int i = 0; i < 10; i++) {
		const struct row *r;
		uint64_t live[2];
		query_rows(x.q, true, &r);
		live[0] = live_bytes(&r[query_index(x.q, serve)].amounts.sum);
		live[1] = live_bytes(&r[query_index(x.q, logs)].amounts.sum);
		bool before = query_index(x.q, serve) < query_index(x.q, logs);
		CHECK_EQ(before, live[0] > live[1]);
		if (before)
			grow(&x, 7, 1, live[0] - live[1] + 1000);
		else
			grow(&x, 4, 1, live[1] - live[0] + 1000);
		tick(&x, SECOND / 10);
		screen(&x, false);
		CHECK_EQ(row(&x, "serve"), serve);
		/* not sorted unless asked */
		CHECK_EQ(query_index(x.q, serve) < query_index(x.q, logs), before);
		screen(&x, true);
		CHECK_EQ(query_index(x.q, serve) < query_index(x.q, logs), !before);
	}
	end(&x);
}

TEST(open_rows_stay_open_when_names_come)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 }, { 2, 1, 1, NULL, 0 },     { 3, 1, 1, NULL, 30 },
		{ 4, 2, 1, NULL, 100 }, { 5, 2, 0, "other", 70 }, { 6, 1, 0, "third", 10 },
	};
	struct session x;

	BEGIN_WITH(&x, paths);
	open_row(&x, "main");
	open_row(&x, "libtile.so.2+0x20");
	CHECK_STR(screen(&x, true), "main 210\n.libtile.so.2+0x20 170\n..libtile.so.2+0x40 "
				    "100\n..other 70\n.libtile.so.2+0x30 30\n.third 10");
	row_id id = row(&x, "libtile.so.2+0x20");
	made_answer(&x.s, 1, 2 * 16, SYMBOL_TABLE, "serve");
	CHECK_STR(screen(&x, false), "main 210\n.serve 170\n..libtile.so.2+0x40 100\n..other "
				     "70\n.libtile.so.2+0x30 30\n.third 10");
	CHECK_EQ(row(&x, "serve"), id);
	made_symbol(&x.s, 1, 3 * 16, "serve"); /* two rows become one */
	CHECK_STR(screen(&x, false),
		  "main 210\n.serve 200\n..libtile.so.2+0x40 100\n..other 70\n.third 10");
	CHECK_EQ(row(&x, "serve"), id);
	made_symbol(&x.s, 1, 2 * 16, "inner|middle|serve"); /* one row becomes a chain */
	CHECK_STR(screen(&x, false), "main 210\n.serve 200\n..middle > inner "
				     "170\n...libtile.so.2+0x40 100\n...other 70\n.third 10");
	CHECK_EQ(row(&x, "serve"), id);
	end(&x);
}

/* main > two callers of work, which calls decode and draw; names of the callers are late. */
static void late_callers(struct session *x, uint64_t first, uint64_t second)
{
	const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },    { 2, 1, 1, NULL, 0 },          { 3, 1, 1, NULL, 0 },
		{ 4, 3, 0, "work", 0 },    { 5, 4, 0, "decode", second }, { 6, 4, 0, "draw", 70 },
		{ 7, 2, 0, "log", first },
	};

	BEGIN_WITH(x, paths);
	open_row(x, "main");
	screen(x, true);
	open_row(x, "libtile.so.2+0x30 > work");
	screen(x, true);
}

/* An open chain that gets a second branch is cut in two, and what was on the screen stays there. */
TEST(open_chains_stay_open_where_they_fork)
{
	struct session x;

	late_callers(&x, 30, 100);
	CHECK_STR(screen(&x, false),
		  "main 200\n.libtile.so.2+0x30 > work 170\n..decode 100\n..draw 70\n"
		  ".libtile.so.2+0x20 > log 30");
	row_id id = row(&x, "libtile.so.2+0x30 > work");
	node(&x, 8, 3, 0, "note");
	grow(&x, 8, 1, 10);
	tick(&x, SECOND);
	CHECK_STR(screen(&x, false),
		  "main 210\n.libtile.so.2+0x30 180\n..work 170\n...decode 100\n...draw 70\n"
		  "..note 10\n.libtile.so.2+0x20 > log 30");
	CHECK_EQ(row(&x, "libtile.so.2+0x30"), id);
	CHECK_EQ(query_open(x.q, id, false), 0); /* and it can be closed */
	CHECK_STR(screen(&x, false),
		  "main 210\n.libtile.so.2+0x30 180\n.libtile.so.2+0x20 > log 30");
	end(&x);
}

/* Whichever of them came first. */
TEST(open_rows_stay_open_when_names_join_them)
{
	static const uint64_t first[] = { 30, 300 };

	for (int i = 0; i < 2; i++) {
		struct session x;

		late_callers(&x, first[i], 100);
		row_id work = row(&x, "libtile.so.2+0x30 > work");
		made_symbol(&x.s, 1, 2 * 16, "start");
		made_symbol(&x.s, 1, 3 * 16, "start");
		CHECK_STR(screen(&x, true),
			  i ? "main > start 470\n.log 300\n.work 170\n..decode 100\n..draw 70"
			    : "main > start 200\n.work 170\n..decode 100\n..draw 70\n.log 30");
		query_unfold(x.q, row(&x, "main > start"));
		screen(&x, true);
		CHECK_EQ(row(&x, "start"), work);
		end(&x);
	}
}

/* Two rows below an open one become one, which is no line of its own then. */
TEST(an_open_row_stays_open_where_names_join_its_children)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },     { 2, 1, 1, NULL, 0 },    { 3, 1, 1, NULL, 0 },
		{ 4, 2, 0, "decode", 100 }, { 5, 3, 0, "draw", 70 },
	};
	struct session x;

	BEGIN_WITH(&x, paths);
	open_row(&x, "main");
	CHECK_STR(screen(&x, true), "main 170\n.libtile.so.2+0x20 > decode 100\n"
				    ".libtile.so.2+0x30 > draw 70");
	made_symbol(&x.s, 1, 2 * 16, "work");
	made_symbol(&x.s, 1, 3 * 16, "work");
	CHECK_STR(screen(&x, true), "main > work 170\n.decode 100\n.draw 70");
	query_open(x.q, row(&x, "main > work"), false);
	CHECK_STR(screen(&x, true), "main > work 170");
	end(&x);
}

TEST(small_rows_fold)
{
	struct session x;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 0; i < 20; i++) {
		static char names[20][8];
		snprintf(names[i], 8, "f%02u", i);
		node(&x, 2 + i, 1, 0, names[i]);
		grow(&x, 2 + i, 1, i < 2 ? 1000001 - i : i);
	}
	tick(&x, SECOND);
	open_row(&x, "main");
	CHECK_STR(screen(&x, true), "main 2000190\n.f00 1000001\n.f01 1000000\n.... 18 more 189");
	const struct row *r;
	size_t n = query_rows(x.q, false, &r);
	CHECK(r[3].flags & ROW_REST);
	CHECK_EQ(r[3].paths, 18);
	grow(&x, 5, 1, 1);
	tick(&x, SECOND);
	CHECK_STR(screen(&x, false), "main 2000191\n.f00 1000001\n.f01 1000000\n.... 18 more 190");
	CHECK_EQ(query_open(x.q, r[3].id, true), 0);
	n = query_rows(x.q, true, &r);
	CHECK_EQ(n, 21);
	uint64_t sum = 0;
	for (size_t i = 1; i < n; i++)
		sum += live_bytes(&r[i].amounts.sum);
	CHECK_EQ(sum, 2000191);
	end(&x);
}

TEST(all_open_from_the_heaviest_on_and_none_without_memory)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },   { 2, 1, 0, "idle", 10 },    { 3, 2, 0, "was", 20 },
		{ 4, 2, 0, "gone", 100 }, { 5, 2, 0, "before", 100 }, { 6, 1, 0, "busy", 50 },
		{ 7, 6, 0, "load", 900 }, { 8, 6, 0, "note", 20 },
	};
	struct session x;

	BEGIN_WITH(&x, paths);
	CHECK(query_open_below(x.q, 0, true, 3));
	CHECK_STR(screen(&x, false), "main 1200\n.busy 970\n..load 900\n..note 20\n.idle 230");
	for (uint32_t i = 2; i < 6; i++)
		shrink(&x, i, 1, paths[i - 1].bytes);
	tick(&x, SECOND);
	query_open_below(x.q, 0, false, 100);
	query_open_below(x.q, 0, true, 100);
	CHECK_STR(screen(&x, false), "main 970\n.busy 970\n..load 900\n..note 20\n.idle 0");
	open_row(&x, "idle");
	CHECK_STR(screen(&x, false), "main 970\n.busy 970\n..load 900\n..note 20\n.idle 0\n"
				     "..... 3 more without memory 0");
	end(&x);
}

TEST(filter_keeps_matching_stacks)
{
	struct session x;
	struct err err;

	family(&x);
	open_row(&x, "main");
	open_row(&x, "serve");
	CHECK_EQ(query_set_filter(x.q, "decode", &err), 0);
	CHECK_STR(screen(&x, true), "main 700\n.serve 700\n..decode 700");
	CHECK_EQ(query_set_filter(x.q, "decode size>350", &err), 0);
	CHECK_STR(screen(&x, true), "main 400\n.serve 400\n..decode 400");
	grow(&x, 5, 1, 60); /* now above */
	tick(&x, SECOND);
	CHECK_STR(screen(&x, true), "main 760\n.serve 760\n..decode 760");
	CHECK_EQ(query_set_filter(x.q, "lib:tile DRAW", &err), 0);
	CHECK_STR(screen(&x, true), "main 2000\n.serve 2000\n..draw 2000");
	CHECK_EQ(query_set_filter(x.q, "no_such_name", &err), 0);
	CHECK_STR(screen(&x, true), "");
	CHECK_EQ(query_set_filter(x.q, "size>many", &err), -1);
	CHECK(strstr(err.text, "not a size"));
	CHECK_EQ(query_set_filter(x.q, "", &err), 0);
	CHECK_STR(screen(&x, true),
		  "main 2810\n.serve 2760\n..draw 2000\n..decode 760\n.log_line 50");
	made_mark(x.m, 1, 0, x.now, 0, "m");
	for (uint32_t i = 4; i <= 7; i++)
		made_cell(x.m, 1, i, made_live_of(x.m, i).blocks, made_live_of(x.m, i).bytes);
	made_cells_end(x.m, 1);
	made_slot(x.m, 100, 7, 1);
	grow(&x, 100, 1, 9);
	tick(&x, SECOND);
	CHECK_EQ(model_set_interval(x.m, 1, 0), 0);
	CHECK_EQ(query_set_filter(x.q, "grew", &err), 0);
	CHECK_STR(screen(&x, true), "main 59\n.log_line 59");
	CHECK_EQ(query_set_filter(x.q, "new", &err), 0);
	CHECK_STR(screen(&x, true), "");
	end(&x);
}

TEST(zoom_shows_a_subtree_as_the_root)
{
	struct session x;

	family(&x);
	open_row(&x, "main");
	CHECK_EQ(query_zoom(x.q, row(&x, "serve")), 0);
	CHECK_STR(screen(&x, true), "serve 2700\n.draw 2000\n.decode 700");
	CHECK_EQ(query_zoom(x.q, row(&x, "decode")), 0);
	CHECK_STR(screen(&x, true), "decode 700");
	CHECK_EQ(query_zoom(x.q, 0), 0);
	CHECK_EQ(query_zoom(x.q, 0), 0);
	CHECK_STR(screen(&x, true),
		  "main 2750\n.serve 2700\n..draw 2000\n..decode 700\n.log_line 50");
	CHECK_EQ(query_zoom(x.q, 0), -1);
	CHECK_EQ(query_zoom_owner(x.q, 1), 0);
	CHECK_STR(screen(&x, true), "main 2700\n.serve 2700\n..draw 2000\n..decode 700");
	CHECK_EQ(query_zoom(x.q, 0), 0);
	end(&x);
}

TEST(search_opens_parents_of_hits)
{
	struct session x;
	size_t pending;

	family(&x);
	node(&x, 8, 6, 1, NULL);
	grow(&x, 8, 1, 5);
	tick(&x, SECOND);
	query_search(x.q, "DECO");
	CHECK_EQ(query_hits(x.q, &pending), 2);
	CHECK_EQ(pending, 1);
	CHECK_STR(screen(&x, true),
		  "main 2755\n.serve 2705\n..draw 2005\n..decode 700\n.log_line 50");
	row_id hit = query_search_next(x.q, row(&x, "main"), false);
	CHECK_EQ(hit, row(&x, "decode"));
	CHECK_EQ(query_search_next(x.q, hit, false), hit);
	query_search(x.q, "");
	CHECK_EQ(query_hits(x.q, &pending), 0);
	screen(&x, false);
	CHECK_EQ(query_search_next(x.q, hit, true), 0);
	CHECK_EQ(query_open_node(x.q, 7), row(&x, "log_line"));
	end(&x);
}

TEST(heaviest_path_stops_at_a_fork)
{
	struct session x;

	family(&x);
	row_id last = query_open_heaviest(x.q, 0);
	CHECK_STR(screen(&x, true),
		  "main 2750\n.serve 2700\n..draw 2000\n..decode 700\n.log_line 50");
	CHECK_EQ(last, row(&x, "draw"));
	end(&x);
}

TEST(inverted_sums_by_callers)
{
	struct session x;

	family(&x);
	query_set_inverted(x.q, true);
	CHECK_STR(screen(&x, true), "draw 2000\ndecode 700\nlog_line 50");
	node(&x, 8, 7, 1, "decode"); /* another caller */
	grow(&x, 8, 1, 33);
	tick(&x, SECOND);
	open_row(&x, "decode");
	CHECK_STR(screen(&x, true),
		  "draw 2000\ndecode 733\n.serve < main 700\n.log_line < main 33\nlog_line 50");
	const struct row *r;
	query_rows(x.q, false, &r);
	CHECK_EQ(live_bytes(&r[1].self), 733);
	query_set_inverted(x.q, false);
	CHECK_STR(screen(&x, true), "main 2783");
	end(&x);
}

/* At call sites, as sites do, also in the middle of what was inlined; names turn that, too. */
TEST(inverted_begins_at_call_sites)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },
		{ 2, 1, 0, "std::vector<int>::push_back(int)|parse", 0 },
		{ 3, 2, 0, "std::allocator<int>::allocate(unsigned long)", 100 },
		{ 4, 1, 0, "std::vector<int>::reserve(unsigned long)|parse", 20 },
		{ 5, 1, 0, "draw", 0 },
		{ 6, 5, 0, NULL, 3 },
	};
	struct session x;
	const struct row *r;

	BEGIN_WITH(&x, paths);
	query_set_inverted(x.q, true);
	CHECK_STR(screen(&x, true), "parse 120\nprogram+0x60 3");
	open_row(&x, "parse");
	CHECK_STR(screen(&x, true), "parse 120\n.main 120\nprogram+0x60 3");
	size_t n = query_rows(x.q, false, &r);
	CHECK_EQ(n, 3);
	CHECK_EQ(live_bytes(&r[0].self), 120);
	CHECK_EQ(live_bytes(&r[1].self), 0);
	CHECK_EQ(r[0].paths, 2);
	made_symbol(&x.s, 0, 6 * 16, "std::string::reserve(unsigned long)");
	node(&x, 7, 3, 0, "std::allocator<int>::allocate(unsigned long)");
	grow(&x, 7, 1, 1000);
	grow(&x, 4, 1, 1);
	tick(&x, SECOND);
	CHECK_STR(screen(&x, true), "parse 1121\n.main 1121\ndraw 3");
	query_rows(x.q, false, &r);
	CHECK_EQ(live_bytes(&r[0].self), 1121);
	CHECK_EQ(query_open_node(x.q, 7), r[0].id);
	end(&x);
}

TEST(recursion_counts_once)
{
	struct session x;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 2; i <= 6; i++) {
		node(&x, i, i - 1, 0, "visit");
		grow(&x, i, 1, 10);
	}
	tick(&x, SECOND);
	CHECK_STR(screen(&x, true), "main > visit 50");
	query_open_below(x.q, 0, true, 100);
	CHECK_STR(screen(&x, true),
		  "main > visit 50\n.visit 40\n..visit 30\n...visit 20\n....visit 10");
	query_set_inverted(x.q, true);
	CHECK_EQ(query_open_below(x.q, 0, false, 100), 0);
	CHECK_STR(screen(&x, true), "visit 50"); /* five stacks, one function: counted once */
	end(&x);
}

TEST(opening_all_has_a_limit)
{
	struct session x;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 2; i < 200; i++) {
		static char names[200][8];
		snprintf(names[i], 8, "f%03u", i);
		node(&x, i, i / 3 ? i / 3 : 1, 0, names[i]);
		grow(&x, i, 1, i);
	}
	tick(&x, SECOND);
	CHECK(query_open_below(x.q, 0, true, 20) > 0);
	const struct row *r;
	size_t n = query_rows(x.q, true, &r);
	CHECK(n > 20 && n < 100);
	CHECK_EQ(query_open_below(x.q, 0, true, 100000), 0);
	query_open_below(x.q, 0, false, SIZE_MAX);
	CHECK_EQ(query_rows(x.q, true, &r), 1);
	end(&x);
}

/* main calls work0 .. work99, each of which calls leafN: whose blocks move between the slices of
 * one request, and between two requests with another order. */
TEST(the_limit_of_opening_all_holds_in_a_tree_that_changes)
{
	static char names[200][12];
	struct session x;
	const struct row *r;
	size_t n;

	begin(&x);
	seed = 5;
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 2; i < 202; i++) {
		snprintf(names[i - 2], 12, "%s%03u", i < 102 ? "work" : "leaf", i % 100);
		node(&x, i, i < 102 ? 1 : i - 100, 0, names[i - 2]);
		grow(&x, i, 1, 100 + below(1000));
	}
	tick(&x, SECOND);
	for (int round = 0; round < 10; round++) {
		query_set_sort(x.q, round % 2 ? BY_LIVE : BY_ALLOC, round % 3 == 0);
		for (uint32_t at = 102 + below(5); at < 202; at += 5)
			grow(&x, at, 1, 100 + below(100000));
		tick(&x, SECOND);
		query_open_below(x.q, 0, true, 20);
		n = query_rows(x.q, true, &r);
		CHECK(n > 20 && n <= 101 + 20);
	}
	end(&x);
}

TEST(truncated_and_dead_rows)
{
	struct session x;
	const struct row *r;

	begin(&x);
	made_truncated(x.m, 1, MTW_TRUNC_DEPTH);
	node(&x, 2, 1, 0, "lost");
	node(&x, 3, 1, 0, "gone");
	grow(&x, 2, 1, 10);
	grow(&x, 3, 1, 10);
	tick(&x, SECOND);
	shrink(&x, 3, 1, 10);
	tick(&x, SECOND);
	query_open_below(x.q, 0, true, 10);
	CHECK_EQ(query_rows(x.q, true, &r), 3);
	CHECK_STR(r[0].name, "[described]");
	CHECK(r[0].flags & ROW_TRUNCATED);
	CHECK(!(r[1].flags & ROW_ZERO));
	CHECK(r[2].flags & ROW_ZERO);
	end(&x);
}

TEST(stack_for_reports)
{
	struct session x;
	struct frame_out f[8];

	begin(&x);
	node(&x, 1, 0, 0, "main");
	node(&x, 2, 1, 1, "push|serve");
	CHECK_EQ(query_stack(x.q, 2, f, 8), 3);
	CHECK_STR(f[0].function, "push");
	CHECK(f[0].inlined && !f[1].inlined);
	CHECK_STR(f[1].module, "libtile.so.2");
	CHECK_EQ(f[1].offset, 32);
	CHECK_STR(f[2].function, "main");
	CHECK_EQ(query_stack(x.q, 2, f, 2), 2);
	CHECK_EQ(query_stack(x.q, 77, f, 8), 0);
	end(&x);
}

/* "~draw" of the rows whose figures have a sampled share, here or below. */
static const char *estimates(struct session *x)
{
	static char text[1024];
	const struct row *r;
	size_t n = query_rows(x->q, true, &r), at = 0;

	text[0] = 0;
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%s%s", i ? " " : "",
				       r[i].amounts.sampled ? "~" : "", r[i].name,
				       r[i].self_estimate ? "~" : "");
	return text;
}

TEST(rows_are_estimates_where_their_stacks_are)
{
	struct session x;
	const struct site *s;
	struct err err;

	family(&x);
	CHECK_EQ(query_open_below(x.q, 0, true, 100), 0);
	CHECK_STR(estimates(&x), "main serve draw decode log_line");
	made_slot(x.m, 20, 5, 0);
	made_weighed(x.m, 20, 4096);
	tick(&x, SECOND);
	/* nothing is counted in it yet */
	CHECK_STR(estimates(&x), "main serve draw decode log_line");
	x.sum.alloc_blocks += 10;
	x.sum.alloc_bytes += 100;
	made_counts(x.m, 20, 10, 100, 0, 0);
	tick(&x, SECOND);
	CHECK_STR(estimates(&x), "~main ~serve draw ~decode~ log_line");
	size_t n = query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_EQ(n, 3);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(s[i].amounts.sampled, !strcmp(s[i].name, "decode"));
	CHECK_EQ(query_set_filter(x.q, "draw", &err), 0);
	CHECK_STR(estimates(&x), "main serve draw");
	CHECK_EQ(query_set_filter(x.q, "", &err), 0);
	query_set_inverted(x.q, true);
	CHECK_STR(estimates(&x), "draw ~decode~ log_line");
	end(&x);
}
