/* SPDX-License-Identifier: MIT
 *
 * test_ages.c - ages of rows and call sites, also under age and thread filters.
 */
#include "check.h"
#include "made_query.h"

static void thread(struct session *x, uint32_t index, uint32_t tid, const char *name)
{
	struct event e = { .type = MTW_THREAD };

	e.u.thread.index = index;
	e.u.thread.tid = tid;
	e.u.thread.name = made_text(name);
	made_apply(x->m, &e);
}

static void scan(struct session *x, struct cohort *list, size_t count)
{
	struct event e = { .type = MTW_SCAN_COHORTS };

	e.u.cohorts.flags = MTW_PART_FIRST | MTW_PART_LAST;
	e.u.cohorts.list = list;
	e.u.cohorts.count = count;
	made_apply(x->m, &e);
}

/* Of made_query.h's family(): decode 400 and 300, draw 2000, log_line 50; by two threads. */
static void aged_family(struct session *x)
{
	struct cohort list[] = {
		{ 4, 1, 5, 3, 100 },   { 4, 2, 100, 1, 300 }, { 5, 1, 2, 1, 300 },
		{ 6, 1, 64, 1, 2000 }, { 7, 2, 1000, 1, 50 },
	};

	family(x);
	thread(x, 1, 4711, "main");
	thread(x, 2, 4712, "io-7");
	scan(x, list, 5);
}

static struct age age_of(struct session *x, const char *name)
{
	uint32_t id = row(x, name);
	struct age a;

	query_ages(x->q, false, &id, 1, &a);
	return a;
}

TEST(median_and_oldest_of_rows)
{
	struct session x;
	uint32_t none = 9999;
	struct age a;

	family(&x);
	open_row(&x, "main");
	CHECK(!age_of(&x, "main").known); /* no scan yet */
	end(&x);
	aged_family(&x);
	open_row(&x, "main");
	open_row(&x, "serve");
	screen(&x, true);
	/* Blocks: 2 s, three of 5 s, 64, 100, 1000: the fourth of seven. */
	CHECK_EQ(age_of(&x, "main").median_s, 5);
	CHECK_EQ(age_of(&x, "main").oldest_s, mtw_age_step(1000));
	CHECK_EQ(age_of(&x, "decode").median_s, 5);
	CHECK_EQ(age_of(&x, "decode").oldest_s, mtw_age_step(100));
	CHECK_EQ(age_of(&x, "draw").median_s, 64);
	CHECK_EQ(age_of(&x, "log_line").median_s, mtw_age_step(1000));
	query_ages(x.q, false, &none, 1, &a);
	CHECK(!a.known);
	query_set_inverted(x.q, true);
	screen(&x, true);
	CHECK_EQ(age_of(&x, "decode").oldest_s, mtw_age_step(100));
	CHECK_EQ(age_of(&x, "draw").oldest_s, 64);
	end(&x);
}

TEST(ages_of_call_sites)
{
	struct session x;
	const struct site *sites;

	aged_family(&x);
	size_t n = query_sites(x.q, BY_LIVE, false, true, &sites);
	CHECK_EQ(n, 3);
	for (size_t i = 0; i < n; i++) {
		struct age a;
		query_ages(x.q, true, &sites[i].id, 1, &a);
		CHECK(a.known);
		if (!strcmp(sites[i].name, "decode"))
			CHECK_EQ(a.oldest_s, mtw_age_step(100));
	}
	end(&x);
}

static uint64_t blocks_of(struct session *x, const char *name)
{
	const struct row *r;

	query_rows(x->q, true, &r);
	return live_blocks(&r[query_index(x->q, row(x, name))].amounts.sum);
}

static const char *filtered(struct session *x, const char *text)
{
	struct err err = { 0 };

	CHECK_EQ(query_set_filter(x->q, text, &err), 0);
	return screen(x, true);
}

/* As far as requested; unknown ages come last in both orders. */
TEST(rows_and_call_sites_in_the_order_of_their_ages)
{
	struct session x;
	const struct site *s;
	const struct row *r;
	struct age a[16];
	uint32_t ids[16];

	aged_family(&x);
	open_row(&x, "main");
	open_row(&x, "serve");
	query_set_sort(x.q, BY_OLDEST, false);
	/* nothing is known: by LIVE */
	CHECK_STR(screen(&x, true),
		  "main 2750\n.serve 2700\n..draw 2000\n..decode 700\n.log_line 50");
	CHECK_EQ(query_ages_version(x.q), 0);
	size_t n = query_rows(x.q, false, &r);
	for (size_t i = 0; i < n; i++)
		ids[i] = r[i].id;
	query_ages(x.q, false, ids, n, a);
	uint64_t version = query_ages_version(x.q);
	CHECK(version != 0);
	CHECK_STR(screen(&x, true),
		  "main 2750\n.log_line 50\n.serve 2700\n..decode 700\n..draw 2000");
	query_set_sort(x.q, BY_AGE, false);
	CHECK_STR(screen(&x, true),
		  "main 2750\n.log_line 50\n.serve 2700\n..draw 2000\n..decode 700");
	query_set_sort(x.q, BY_AGE, true);
	CHECK_STR(screen(&x, true),
		  "main 2750\n.serve 2700\n..decode 700\n..draw 2000\n.log_line 50");
	node(&x, 8, 2, 1, "young"); /* nobody asked about it */
	grow(&x, 8, 1, 5000);
	tick(&x, SECOND);
	CHECK_STR(screen(&x, true),
		  "main 7750\n.serve 7700\n..decode 700\n..draw 2000\n..young 5000\n.log_line 50");
	query_set_sort(x.q, BY_AGE, false);
	CHECK_STR(screen(&x, true),
		  "main 7750\n.log_line 50\n.serve 7700\n..draw 2000\n..decode 700\n..young 5000");
	/* the heaviest, not the oldest */
	CHECK_EQ(query_open_heaviest(x.q, row(&x, "main")), row(&x, "young"));

	n = query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_EQ(n, 4);
	for (size_t i = 0; i < n; i++)
		ids[i] = s[i].id;
	query_ages(x.q, true, ids, n, a);
	CHECK(query_ages_version(x.q) != version);
	static const char *const oldest[] = { "log_line", "decode", "draw", "young" };
	static const char *const youngest[] = { "decode", "draw", "log_line", "young" };
	query_sites(x.q, BY_OLDEST, false, true, &s);
	for (size_t i = 0; i < n; i++)
		CHECK_STR(s[i].name, oldest[i]);
	query_sites(x.q, BY_AGE, true, true, &s);
	for (size_t i = 0; i < n; i++)
		CHECK_STR(s[i].name, youngest[i]);
	end(&x);
}

TEST(only_older_or_younger_blocks)
{
	struct session x;

	aged_family(&x);
	open_row(&x, "main");
	open_row(&x, "serve");
	CHECK(!query_by_cohort(x.q));
	CHECK_STR(filtered(&x, "age>60s"),
		  "main 2350\n.serve 2300\n..draw 2000\n..decode 300\n.log_line 50");
	CHECK(query_by_cohort(x.q));
	CHECK_EQ(blocks_of(&x, "decode"), 1);
	CHECK_EQ(age_of(&x, "decode").median_s, mtw_age_step(100));
	CHECK_EQ(age_of(&x, "main").oldest_s, mtw_age_step(1000));
	CHECK_STR(filtered(&x, "thread:io"), "main 350\n.serve 300\n..decode 300\n.log_line 50");
	/* the same row, and others' blocks */
	CHECK_EQ(age_of(&x, "main").median_s, mtw_age_step(100));
	CHECK_STR(filtered(&x, "age<1m"), "main 400\n.serve 400\n..decode 400");
	CHECK_EQ(blocks_of(&x, "decode"), 4);
	CHECK_STR(filtered(&x, "age>1m age<2m"),
		  "main 2300\n.serve 2300\n..draw 2000\n..decode 300");
	CHECK_STR(filtered(&x, "age>1d"), "");
	/* What the program does goes on; what is alive of it is the scan's until there is
	 * another. */
	CHECK_STR(filtered(&x, "age>60s draw"), "main 2000\n.serve 2000\n..draw 2000");
	grow(&x, 6, 3, 3000);
	tick(&x, SECOND);
	CHECK_STR(screen(&x, true), "main 2000\n.serve 2000\n..draw 2000");
	struct cohort list[] = { { 6, 1, 66, 1, 2000 },
				 { 6, 1, 61, 1, 1000 },
				 { 6, 1, 0, 2, 2000 } };
	scan(&x, list, 3);
	tick(&x, SECOND);
	CHECK_STR(screen(&x, true), "main 3000\n.serve 3000\n..draw 3000");
	end(&x);
}

TEST(only_one_threads_blocks)
{
	struct session x;

	aged_family(&x);
	open_row(&x, "main");
	open_row(&x, "serve");
	CHECK_STR(filtered(&x, "thread:io"), "main 350\n.serve 300\n..decode 300\n.log_line 50");
	CHECK_STR(filtered(&x, "thread:4712 age<5m"), "main 300\n.serve 300\n..decode 300");
	CHECK_STR(filtered(&x, "thread:471"), ""); /* an id is whole */
	CHECK_STR(filtered(&x, "thread:main decode"), "main 400\n.serve 400\n..decode 400");
	end(&x);
}

/* Rates and totals count all threads, so rows of one thread's blocks have none. */
TEST(rows_of_one_threads_blocks_have_no_rates)
{
	struct session x;
	const struct row *r;
	const struct site *s;

	aged_family(&x);
	filtered(&x, "age>60s");
	CHECK(query_rows(x.q, true, &r) && query_sites(x.q, BY_LIVE, false, true, &s));
	CHECK(r->amounts.rated != KNOWN_NONE && s->amounts.rated != KNOWN_NONE);
	CHECK_EQ(r->amounts.in_all, KNOWN);
	filtered(&x, "thread:io");
	CHECK(query_rows(x.q, true, &r) && query_sites(x.q, BY_LIVE, false, true, &s));
	CHECK_EQ(r->amounts.rated, KNOWN_NONE);
	CHECK_EQ(r->amounts.in_all, KNOWN_NONE);
	CHECK_EQ(s->amounts.rated, KNOWN_NONE);
	CHECK_EQ(s->amounts.in_all, KNOWN_NONE);
	CHECK_EQ(s->amounts.live, KNOWN);
	end(&x);
}

/* In slices, as on the screen: each call comes further, and what was known is lent meanwhile. */
TEST(ages_come_in_slices)
{
	struct session x;
	enum { SLOTS = 5000 };
	struct cohort *list = xcalloc(SLOTS, sizeof *list);
	struct age a;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 0; i < SLOTS; i++) {
		node(&x, i + 2, 1, 0, "leaf");
		grow(&x, i + 2, 1, 10);
		list[i] = (struct cohort){ i + 2, 1, i % 20, 1, 10 };
	}
	tick(&x, SECOND);
	scan(&x, list, SLOTS);
	open_row(&x, "main > leaf");
	uint32_t id = row(&x, "main > leaf");
	query_ages(x.q, false, &id, 1, &a);
	CHECK_EQ(a.median_s, 9);
	CHECK_EQ(a.oldest_s, 19);
	scan(&x, list, SLOTS / 2);
	query_ages(x.q, false, &id, 1, &a);
	CHECK_EQ(a.oldest_s, 19);
	free(list);
	end(&x);
}

TEST(ages_of_rows_that_move)
{
	struct session x;
	enum { SLOTS = 4000 };
	struct cohort *list = xcalloc(SLOTS, sizeof *list);
	struct age a[3];

	begin(&x);
	node(&x, 1, 0, 0, "main");
	node(&x, 2, 1, 0, "left");
	node(&x, 3, 1, 0, "right");
	for (uint32_t i = 0; i < SLOTS; i++) {
		node(&x, i + 4, 2 + i % 2, 0, "leaf");
		grow(&x, i + 4, 1, 10);
		list[i] = (struct cohort){ i + 4, 1, 1 + i % 2 * 7, 1, 10 };
	}
	tick(&x, SECOND);
	scan(&x, list, SLOTS);
	open_row(&x, "main");
	uint32_t ids[3] = { row(&x, "left > leaf"), row(&x, "right > leaf"), row(&x, "main") };
	query_ages(x.q, false, ids, 2, a);
	query_ages(x.q, false, ids, 3, a);
	CHECK_EQ(a[ids[0] == row(&x, "right > leaf")].oldest_s, 1);
	CHECK_EQ(a[ids[0] != row(&x, "right > leaf")].oldest_s, 8);
	CHECK_EQ(a[2].oldest_s, 8);
	free(list);
	end(&x);
}

TEST(ages_that_are_none)
{
	struct session x;
	static const char *const wrong[] = { "age>",    "age>x",    "age<5y",
					     "age>-3s", "age>1e30", "age>5mm" };

	aged_family(&x);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct err err = { 0 };
		CHECK_EQ(query_set_filter(x.q, wrong[i], &err), -1);
		CHECK(strstr(err.text, "not an age"));
		CHECK(!query_by_cohort(x.q));
	}
	end(&x);
}
