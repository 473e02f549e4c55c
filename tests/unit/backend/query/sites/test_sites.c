/* SPDX-License-Identifier: MIT
 *
 * test_sites.c - call sites: what they join, their order, names, rules, and net by interval.
 */
#include "check.h"
#include "made_query.h"

TEST(sites_join_stacks)
{
	struct session x;
	const struct site *s;

	family(&x);
	node(&x, 8, 4, 2, "malloc"); /* a wrapper: its caller is the site */
	grow(&x, 8, 1, 90);
	tick(&x, SECOND);
	size_t n = query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_EQ(n, 3);
	CHECK_STR(s[0].name, "draw");
	CHECK_STR(s[1].name, "decode");
	CHECK_STR(s[1].caller, "serve");
	CHECK_EQ(s[1].stacks, 3);
	CHECK_EQ(live_bytes(&s[1].amounts.sum), 790);
	CHECK_EQ(s[1].leaf, 4);
	uint32_t id = s[1].id;
	grow(&x, 5, 1, 5000);
	tick(&x, SECOND);
	query_sites(x.q, BY_LIVE, false, false, &s);
	CHECK_EQ(s[1].id, id);
	CHECK_EQ(s[1].leaf, 5);
	query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_EQ(s[0].id, id);
	shrink(&x, 5, 2, 5300);
	tick(&x, SECOND);
	query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_EQ(s[1].leaf, 4);
	expect(&x, id, true);
	query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK(s[1].flags & ROW_EXPECTED);
	CHECK(query_expected(x.q, 4) && query_expected(x.q, 5) && query_expected(x.q, 8));
	CHECK(!query_expected(x.q, 6) && !query_expected(x.q, 0));
	expect(&x, id, false);
	query_sites(x.q, BY_LIVE, false, false, &s);
	CHECK(!(s[1].flags & ROW_EXPECTED));
	end(&x);
}

/* An early viewer got the stacks one by one, a late one the heaviest first: both show the same. */
TEST(what_holds_the_same_stands_in_the_order_of_the_agent)
{
	static const uint32_t orders[3][4] = { { 4, 5, 6, 7 }, { 7, 6, 5, 4 }, { 6, 4, 7, 5 } };
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },   { 2, 1, 0, "one", 0 },   { 3, 1, 0, "other", 0 },
		{ 4, 2, 1, "first", 0 },  { 5, 3, 1, "first", 0 }, { 6, 2, 1, "second", 0 },
		{ 7, 3, 1, "second", 0 },
	};

	for (int i = 0; i < 3; i++) {
		struct session x;
		const struct site *s;

		BEGIN_WITH(&x, paths);
		for (int k = 0; k < 4; k++) {
			grow(&x, orders[i][k], 1, 100);
			tick(&x, SECOND);
			query_sites(x.q, BY_LIVE, false, true, &s);
		}
		CHECK_EQ(query_sites(x.q, BY_LIVE, false, true, &s), 2);
		CHECK_STR(s[0].name, "first");
		CHECK_STR(s[0].caller, "one");
		CHECK_STR(s[1].caller, "one");
		for (uint32_t leaf = 4; leaf < 8; leaf++)
			shrink(&x, leaf, 1, 100);
		tick(&x, SECOND);
		query_sites(x.q, BY_LIVE, false, true, &s);
		CHECK_STR(s[0].name, "first");
		CHECK_STR(s[0].caller, "one");
		CHECK_STR(s[1].caller, "one");
		end(&x);
	}
}

/* The verdict of an end, and of marks, too. */
TEST(what_holds_the_same_at_the_end_is_named_by_all_alike)
{
	for (int i = 0; i < 2; i++) {
		struct intervals_kept kept = { 0 };
		struct session x;
		struct verdict v;

		begin(&x);
		node(&x, 1, 0, 0, "main");
		node(&x, 2, 1, 1, "first");
		node(&x, 3, 1, 1, "second");
		for (int k = 0; k < 2; k++) {
			grow(&x, i == k ? 2 : 3, 1, 100);
			tick(&x, SECOND);
			query_verdict(x.q, &v);
		}
		CHECK_EQ(query_intervals(x.q, 0, 0, &kept), 2);
		CHECK_STR(kept.list[0].site.name, "first");
		model_set_state(x.m, MTW_EXITED, 0, true);
		made_tick(x.m, x.now += SECOND, MTW_TICK_COMPLETE | MTW_TICK_FINAL);
		query_verdict(x.q, &v);
		CHECK(strstr(v.text, "50 % of it: first") != NULL);
		end(&x);
	}
}

/* Of very many stacks some are looked at each time; in the end it is the heaviest. */
TEST(the_heaviest_of_many_stacks_is_found_by_and_by)
{
	enum { MANY = 20000 };
	struct session x;
	const struct site *s;
	int looks = 0;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 0; i <= MANY; i++) {
		node(&x, 100 + 2 * i, 1, 0, NULL);
		node(&x, 101 + 2 * i, 100 + 2 * i, 1, "many");
	}
	for (uint32_t i = 0; i <= MANY; i++)
		grow(&x, 101 + 2 * i, 1, i == 0 ? 10000 : i == MANY / 2 ? 5000 : 10);
	tick(&x, SECOND);
	query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_STR(s[0].name, "many");
	CHECK_EQ(s[0].leaf, 101);
	shrink(&x, 101, 1, 10000);
	for (; looks < 20 && s[0].leaf != 101 + MANY; looks++) {
		tick(&x, SECOND);
		CHECK(query_sites(x.q, BY_LIVE, false, true, &s) >= 1);
	}
	CHECK(looks == 1);
	end(&x);
}

/* Rules that were there before the program know the site as soon as its name does. */
TEST(rules_wait_for_names)
{
	struct session x;
	const struct site *s;

	begin(&x);
	x.rules = expected_new();
	CHECK_EQ(expected_set(x.rules, "libtile.*!cache_p*", true), 0);
	query_expect(x.q, x.rules);
	node(&x, 1, 0, 0, "main");
	node(&x, 2, 1, 1, NULL);
	grow(&x, 2, 1, 500);
	tick(&x, SECOND);
	CHECK_EQ(query_sites(x.q, BY_LIVE, false, true, &s), 1);
	CHECK(!(s[0].flags & ROW_EXPECTED));
	char key[EXPECTED_KEY_MAX];
	CHECK(query_site_key(x.q, s[0].id, key));
	CHECK_STR(key, "libtile.so.2!+0x20");
	made_symbol(&x.s, 1, 32, "cache_put");
	CHECK_EQ(query_sites(x.q, BY_LIVE, false, true, &s), 1);
	CHECK(s[0].flags & ROW_EXPECTED);
	CHECK(query_site_key(x.q, s[0].id, key));
	CHECK_STR(key, "libtile.so.2!cache_put");
	end(&x);
}

/* What a template library puts between two functions is not who called. */
TEST(callers_say_something)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 10 },
		{ 2, 1, 0, "std::make_shared<S>()|login", 0 },
		{ 3, 2, 0,
		  "std::vector<char>::vector(unsigned long)|Session::Session()|"
		  "std::_Construct<S>(S*)",
		  500 },
		{ 4, 1, 2, "qsort", 0 },
		{ 5, 4, 0, "compare", 100 },
	};
	struct session x;
	const struct site *s;

	BEGIN_WITH(&x, paths);
	CHECK_EQ(query_sites(x.q, BY_LIVE, false, true, &s), 3);
	CHECK_STR(s[0].name, "Session::Session()");
	CHECK_STR(s[0].caller, "login");
	CHECK_STR(s[1].name, "compare");
	CHECK_STR(s[1].caller, "qsort");
	CHECK_STR(s[2].name, "main");
	CHECK(!s[2].caller);
	end(&x);
}

TEST(intervals_between_marks)
{
	struct session x;
	struct intervals_kept kept = { 0 };

	family(&x);
	for (uint32_t k = 1; k <= 3; k++) {
		made_mark(x.m, k, k - 1, x.now, 0, "m");
		for (uint32_t i = 4; i <= 7; i++)
			made_cell(x.m, k, i, made_live_of(x.m, i).blocks,
				  made_live_of(x.m, i).bytes);
		for (uint32_t e = 1; e < k; e++)
			made_cell(x.m, k, 100 + e, 1, 10 * e);
		made_cells_end(x.m, k);
		made_slot(x.m, 100 + k, 4, k);
		grow(&x, 100 + k, 1, 10 * k);
		if (k == 2)
			shrink(&x, 6, 0, 1500);
		tick(&x, SECOND);
	}
	CHECK_EQ(query_intervals(x.q, 1, 0, &kept), 2);
	CHECK_STR(kept.list[0].site.name, "decode");
	CHECK_EQ(kept.list[0].count, 3);
	CHECK_EQ(kept.list[0].net[0], 10);
	CHECK_EQ(kept.list[0].net[1], 20);
	CHECK_EQ(kept.list[0].net[2], 30);
	CHECK_STR(kept.list[1].site.name, "draw");
	CHECK_EQ(kept.list[1].net[0], 0);
	CHECK_EQ(kept.list[1].net[1], -1500);
	CHECK_EQ(query_intervals(x.q, 1, 2, &kept), 1);
	CHECK_EQ(kept.list[0].net[0], 10);
	/* The amounts at a mark are kept: counting continues from them, also for a stack unknown at
	 * that time. */
	query_intervals(x.q, 1, 0, &kept);
	grow(&x, 103, 1, 7);
	node(&x, 9, 1, 1, "draw");
	made_slot(x.m, 109, 9, 3);
	grow(&x, 109, 1, 2000);
	tick(&x, SECOND);
	CHECK_EQ(query_intervals(x.q, 1, 0, &kept), 2);
	CHECK_STR(kept.list[0].site.name, "draw");
	CHECK_EQ(kept.list[0].net[1], -1500);
	CHECK_EQ(kept.list[0].net[2], 2000);
	CHECK_STR(kept.list[1].site.name, "decode");
	CHECK_EQ(kept.list[1].net[0], 10);
	CHECK_EQ(kept.list[1].net[2], 37);
	CHECK_EQ(query_intervals(x.q, 2, 3, &kept), 2);
	CHECK_STR(kept.list[0].site.name, "decode");
	CHECK(kept.list[0].count == 1 && kept.list[0].net[0] == 20 && kept.list[1].net[0] == -1500);
	end(&x);
}
