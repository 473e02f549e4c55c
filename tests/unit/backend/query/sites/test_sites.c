/* SPDX-License-Identifier: MIT
 *
 * test_sites.c - call sites, their shapes, the verdict, and net by interval.
 */
#include "check.h"
#include "made_query.h"

#include "query/expected.h"

/* What is expected; as x does it. */
static struct expected *rules;

static void expect(struct session *x, uint32_t site, bool on)
{
	char key[EXPECTED_KEY_MAX], rule[2 * EXPECTED_KEY_MAX];

	if (!rules)
		rules = expected_new();
	query_expect(x->q, rules);
	CHECK(query_site_key(x->q, site, key));
	expected_rule_of(rule, key);
	CHECK_EQ(expected_set(rules, rule, on), 0);
}

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
	CHECK_EQ(live_bytes(&s[1].sum), 790);
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

/* Who came early got the stacks one after the other, who came late the heaviest first: both see the
 * same. */
TEST(what_holds_the_same_stands_in_the_order_of_the_agent)
{
	static const uint32_t orders[3][4] = { { 4, 5, 6, 7 }, { 7, 6, 5, 4 }, { 6, 4, 7, 5 } };

	for (int i = 0; i < 3; i++) {
		struct session x;
		const struct site *s;

		begin(&x);
		node(&x, 1, 0, 0, "main");
		node(&x, 2, 1, 0, "one");
		node(&x, 3, 1, 0, "other");
		node(&x, 4, 2, 1, "first");
		node(&x, 5, 3, 1, "first");
		node(&x, 6, 2, 1, "second");
		node(&x, 7, 3, 1, "second");
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
		const struct interval_row *rows;
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
		CHECK_EQ(query_intervals(x.q, 0, 0, &rows), 2);
		CHECK_STR(rows[0].site.name, "first");
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
		query_allow(x.q, 1000000);
		CHECK(query_sites(x.q, BY_LIVE, false, true, &s) >= 1);
	}
	CHECK(looks > 1 && looks < 20);
	end(&x);
}

/* Rules that were there before the program know the site as soon as its name does. */
TEST(rules_wait_for_names)
{
	struct session x;
	const struct site *s;

	begin(&x);
	rules = expected_new();
	CHECK_EQ(expected_set(rules, "libtile.*!cache_p*", true), 0);
	query_expect(x.q, rules);
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

/* Seen on the screen while more names are under way, the table waits for these: what is printed
 * does not. */
TEST(a_name_that_waits_for_others_is_in_a_report)
{
	for (int screen = 0; screen < 2; screen++) {
		struct session x;
		const struct site *s;

		begin(&x);
		node(&x, 1, 0, 0, "main");
		node(&x, 2, 1, 1, NULL);
		node(&x, 3, 2, 0, "keep");
		grow(&x, 3, 1, 500);
		tick(&x, SECOND);
		query_allow(x.q, 1000);
		CHECK_EQ(query_sites(x.q, BY_LIVE, false, true, &s), 1);
		CHECK(strcmp(s[0].caller, "serve"));
		x.s.coming = 1;
		made_symbol(&x.s, 1, 32, "serve");
		query_allow(x.q, 1000);
		query_sites(x.q, BY_LIVE, false, true, &s);
		x.s.coming = screen ? 0 : 1; /* it came, and changed no name */
		query_allow(x.q, screen ? 1000 : SIZE_MAX);
		CHECK_EQ(query_sites(x.q, BY_LIVE, false, true, &s), 1);
		CHECK_STR(s[0].caller, "serve");
		end(&x);
	}
}

/* What a template library puts between two functions is not who called. */
TEST(callers_say_something)
{
	struct session x;
	const struct site *s;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	node(&x, 2, 1, 0, "std::make_shared<S>()|login");
	node(&x, 3, 2, 0,
	     "std::vector<char>::vector(unsigned long)|Session::Session()|std::_Construct<S>(S*)");
	node(&x, 4, 1, 2, "qsort");
	node(&x, 5, 4, 0, "compare");
	grow(&x, 3, 1, 500);
	grow(&x, 5, 1, 100);
	grow(&x, 1, 1, 10);
	tick(&x, SECOND);
	CHECK_EQ(query_sites(x.q, BY_LIVE, false, true, &s), 3);
	CHECK_STR(s[0].name, "Session::Session()");
	CHECK_STR(s[0].caller, "login");
	CHECK_STR(s[1].name, "compare");
	CHECK_STR(s[1].caller, "qsort");
	CHECK_STR(s[2].name, "main");
	CHECK(!s[2].caller);
	end(&x);
}

/* Each second for two minutes: live bytes of one site follow f. Names its shape. */
static enum shape shape_when(uint64_t (*f)(unsigned second), struct verdict *v)
{
	struct session x;
	const struct site *s;
	uint64_t live = 0;

	family(&x);
	for (unsigned i = 1; i <= 130; i++) {
		uint64_t want = f(i);
		if (want > live)
			grow(&x, 6, 1, want - live);
		else if (want < live)
			shrink(&x, 6, 0, live - want);
		live = want;
		tick(&x, SECOND);
		query_sites(x.q, BY_LIVE, false, true, &s); /* as a viewer does */
	}
	query_verdict(x.q, v);
	enum shape shape = s[0].shape;
	CHECK_STR(s[0].name, "draw");
	end(&x);
	return shape;
}

static uint64_t steady(unsigned i)
{
	return i * 100000ull;
}
static uint64_t slowing(unsigned i)
{
	return 10000000ull - 10000000ull / (i + 1);
}
static uint64_t a_step(unsigned i)
{
	return i < 60 ? 5000000 : 25000000;
}
static uint64_t saw(unsigned i)
{
	return 5000000 + i % 35 * 300000ull;
}
static uint64_t flat(unsigned i)
{
	return 5000000 + i % 2 * 100;
}
static uint64_t less(unsigned i)
{
	return 20000000 - i * 100000ull;
}

TEST(shapes_and_verdicts)
{
	static const struct {
		uint64_t (*f)(unsigned);
		enum shape shape;
		const char *words;
	} all[] = {
		{ steady, SHAPE_STEADY, "GROWING" }, { slowing, SHAPE_SLOWING, "FILLING" },
		{ a_step, SHAPE_STEP, "STEP" },      { saw, SHAPE_SAWTOOTH, "UP AND DOWN" },
		{ flat, SHAPE_FLAT, "FLAT" },        { less, SHAPE_SHRINKING, "SHRINKING" },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct verdict v;
		CHECK_EQ(shape_when(all[i].f, &v), all[i].shape);
		if (strncmp(v.text, all[i].words, strlen(all[i].words))) {
			printf("  \"%s\" should begin with %s\n", v.text, all[i].words);
			fflush(stdout);
			_exit(1);
		}
		if (i < 3)
			CHECK(strstr(v.text, "draw") && strstr(v.text, "libtile.so.2"));
	}
}

/* Not the heap, or little of it, but what the heap's allocator keeps, or the program maps: said
 * where that is most. */
TEST(rss_grows_and_the_heap_does_not)
{
	static const struct {
		uint64_t heap, rss, agent;
		int kind;
	} all[] = {
		{ 0, 1000000, 0, V_RSS_GROWING },
		{ 0, 1000000, 20000000, V_RSS_GROWING },
		{ 0, 1000000, 200000000, V_FLAT }, /* all of it may be the agent's */
		{ 0, 10000, 0, V_FLAT },
		{ 500000, 1000000, 0, V_GROWING },
		{ 200000, 1000000, 0, V_RSS_GROWING },
		{ 200000, 1000000, 100000000, V_GROWING },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct session x;
		const struct site *s;
		struct verdict v;

		family(&x);
		made_agent_memory = all[i].agent;
		grow(&x, 6, 1, 5000000);
		tick(&x, SECOND);
		for (unsigned k = 1; k <= 130; k++) {
			if (all[i].heap)
				grow(&x, 6, 1, all[i].heap);
			made_process(x.m, 100000000 + k * all[i].rss);
			tick(&x, SECOND);
			query_sites(x.q, BY_LIVE, false, true, &s);
		}
		query_verdict(x.q, &v);
		CHECK_EQ(v.kind, all[i].kind);
		CHECK((v.kind == V_RSS_GROWING) ==
		      !strncmp(v.text, "RSS GROWS +57.2M/min for ", 25));
		if (v.kind == V_RSS_GROWING)
			CHECK(strstr(
				v.text,
				all[i].heap ? "the heap by far less: Memory (7) says what else does"
					    : "the heap does not: Memory (7) says what does"));
		end(&x);
	}
	made_agent_memory = 0;
}

static void rss_grows_in(const char *program, uint32_t flags, const char *words, uint64_t heap)
{
	struct session x;
	const struct site *s;
	struct verdict v;

	family(&x);
	made_module(x.m, 90, program, MTW_MODULE_MAIN | flags);
	for (unsigned k = 1; k <= 130; k++) {
		grow(&x, 6, 1, heap);
		made_process(x.m, 100000000 + k * 1000000);
		tick(&x, SECOND);
		query_sites(x.q, BY_LIVE, false, true, &s);
	}
	query_verdict(x.q, &v);
	if (!strstr(v.text, words))
		printf("  %s: %s\n", program, v.text);
	CHECK(strstr(v.text, words) != NULL);
	CHECK((v.kind == V_RSS_GROWING) ==
	      (strstr(v.text, "own heap") != NULL || strstr(v.text, "V8's heap") != NULL));
	end(&x);
}

/* As Memory (7) says it; where malloc's blocks grow (PYTHONMALLOC=malloc), they are what is
 * named. */
TEST(rss_grows_in_a_language_with_a_heap_of_its_own)
{
	rss_grows_in("/usr/bin/python3", 0,
		     "the heap does not: Python's own heap? Memory (7) says; PYTHONMALLOC=malloc "
		     "shows it",
		     0);
	rss_grows_in("/usr/bin/python3", 0,
		     "the heap by far less: Python's own heap? Memory (7) says; "
		     "PYTHONMALLOC=malloc shows it",
		     200000);
	rss_grows_in("/usr/bin/node", 0,
		     "V8's heap? Memory (7) says; node --heapsnapshot-signal=SIGUSR2 shows it", 0);
	rss_grows_in("/opt/server", MTW_MODULE_GO,
		     "Go's own heap? Memory (7) says; GODEBUG=gctrace=1 shows it", 0);
	rss_grows_in("/usr/bin/python3.11", 0, "GROWING +57.2M/min", 1000000);
}

/* The next one down is not blamed for what the person expects. */
TEST(what_is_expected_is_not_blamed_on_others)
{
	struct session x;
	const struct site *s;
	struct verdict v;

	family(&x);
	for (unsigned i = 1; i <= 130; i++) {
		grow(&x, 6, 1, 100000);
		grow(&x, 7, 1, i % 2 * 1000);
		tick(&x, SECOND);
		query_sites(x.q, BY_LIVE, false, true, &s);
	}
	query_verdict(x.q, &v);
	CHECK(v.site == s[0].id);
	expect(&x, s[0].id, true);
	query_sites(x.q, BY_LIVE, false, true, &s);
	query_verdict(x.q, &v);
	CHECK(strstr(v.text, "99 % of it: call sites marked as expected"));
	CHECK_EQ(v.kind, V_GROWING);
	CHECK_EQ(v.site, 0);
	expect(&x, s[1].id, true);
	query_sites(x.q, BY_LIVE, false, true, &s);
	query_verdict(x.q, &v);
	CHECK(strstr(
		v.text,
		"AS EXPECTED +5.8M/min for 118 s.  100 % of it: call sites marked as expected"));
	CHECK_EQ(v.kind, V_FLAT);
	grow(&x, 4, 1, 100000); /* once */
	tick(&x, SECOND);
	query_sites(x.q, BY_LIVE, false, true, &s);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_FLAT);
	end(&x);
}

/* A leak beside a vector that doubles: the whole slows down, and yet it is no cache. */
TEST(a_leak_beside_what_fills_is_a_leak)
{
	static const struct {
		unsigned leak;
		const char *words;
		int kind;
	} all[] = {
		{ 100000, "GROWING", V_GROWING },
		{ 10000, "FILLING", V_FILLING },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct session x;
		const struct site *s;
		struct verdict v;
		uint64_t had = 0;

		family(&x);
		for (unsigned k = 1; k <= 130; k++) {
			grow(&x, 6, 1, all[i].leak);
			/* of 7.7 MB in the 120 s, the older half has the most */
			uint64_t want = 64000 * (k < 60 ? 2 * k : 60 + k);
			grow(&x, 7, 1, want - had);
			had = want;
			tick(&x, SECOND);
			query_sites(x.q, BY_LIVE, false, true, &s);
		}
		query_verdict(x.q, &v);
		CHECK_EQ(v.kind, all[i].kind);
		CHECK(!strncmp(v.text, all[i].words, strlen(all[i].words)));
		end(&x);
	}
}

/* A load of 20 s that is over is not filling once a whole interval after it held nothing. */
TEST(growth_that_ended)
{
	struct session x;
	const struct site *s;
	struct verdict v;

	family(&x);
	for (unsigned k = 1; k <= 36; k++) {
		if (k <= 20)
			grow(&x, 6, 1, 100000);
		tick(&x, SECOND);
		query_sites(x.q, BY_LIVE, false, true, &s);
	}
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_FLAT);
	CHECK(!strncmp(v.text, "GREW +1.", 8) && strstr(v.text, "then not for 1") &&
	      strstr(v.text, "draw"));
	for (unsigned k = 0; k < 15; k++) { /* on again: what was said holds no more */
		grow(&x, 6, 1, 100000);
		tick(&x, SECOND);
	}
	query_sites(x.q, BY_LIVE, false, true, &s);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_FILLING);
	end(&x);
}

TEST(verdicts_of_beginning_and_end)
{
	struct session x;
	struct verdict v;

	begin(&x);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_EMPTY);
	end(&x);
	family(&x);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_WATCHING);
	CHECK(!strncmp(v.text, "a verdict on growth needs ", 26) && strstr(v.text, " s more"));
	model_set_state(x.m, MTW_EXITED, 3, true);
	made_tick(x.m, x.now += SECOND, MTW_TICK_COMPLETE | MTW_TICK_FINAL);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_ENDED);
	CHECK(strstr(v.text, "EXITED (status 3)") && strstr(v.text, "draw"));
	end(&x);
}

TEST(intervals_between_marks)
{
	struct session x;
	const struct interval_row *rows;

	family(&x);
	for (uint32_t k = 1; k <= 3; k++) {
		made_mark(x.m, k, k - 1, x.now, 0, "m");
		for (uint32_t i = 4; i <= 7; i++)
			made_cell(x.m, k, i, live_blocks(&model_slot(x.m, i)->now),
				  live_bytes(&model_slot(x.m, i)->now));
		for (uint32_t e = 1; e < k; e++)
			made_cell(x.m, k, 100 + e, 1, 10 * e);
		made_cells_end(x.m, k);
		made_slot(x.m, 100 + k, 4, k);
		grow(&x, 100 + k, 1, 10 * k);
		if (k == 2)
			shrink(&x, 6, 0, 1500);
		tick(&x, SECOND);
	}
	CHECK_EQ(query_intervals(x.q, 1, 0, &rows), 2);
	CHECK_STR(rows[0].site.name, "decode");
	CHECK_EQ(rows[0].count, 3);
	CHECK_EQ(rows[0].net[0], 10);
	CHECK_EQ(rows[0].net[1], 20);
	CHECK_EQ(rows[0].net[2], 30);
	CHECK_STR(rows[1].site.name, "draw");
	CHECK_EQ(rows[1].net[0], 0);
	CHECK_EQ(rows[1].net[1], -1500);
	CHECK_EQ(query_intervals(x.q, 1, 2, &rows), 1);
	CHECK_EQ(rows[0].net[0], 10);
	/* What was held at a mark is kept: it goes on from there, also with a stack that nobody
	 * knew then. */
	query_intervals(x.q, 1, 0, &rows);
	grow(&x, 103, 1, 7);
	node(&x, 9, 1, 1, "draw");
	made_slot(x.m, 109, 9, 3);
	grow(&x, 109, 1, 2000);
	tick(&x, SECOND);
	CHECK_EQ(query_intervals(x.q, 1, 0, &rows), 2);
	CHECK_STR(rows[0].site.name, "draw");
	CHECK_EQ(rows[0].net[1], -1500);
	CHECK_EQ(rows[0].net[2], 2000);
	CHECK_STR(rows[1].site.name, "decode");
	CHECK_EQ(rows[1].net[0], 10);
	CHECK_EQ(rows[1].net[2], 37);
	/* In slices: what was lent holds until it is whole. */
	int slices = 0;
	for (;; slices++) {
		query_allow(x.q, 1);
		CHECK_EQ(query_intervals(x.q, 2, 3, &rows), 2);
		if (query_building(x.q) < 0)
			break;
		CHECK(rows[1].count == 3 && rows[1].net[2] == 37 && slices < 1000);
	}
	CHECK(slices);
	CHECK_STR(rows[0].site.name, "decode");
	CHECK(rows[0].count == 1 && rows[0].net[0] == 20 && rows[1].net[0] == -1500);
	end(&x);
}

/* A peer that lies may claim what no heap has: sums over it stay in bounds. */
TEST(growth_beyond_any_heap_does_not_overflow)
{
	struct session x;
	const struct site *s = NULL;
	struct verdict v;

	family(&x);
	for (int i = 0; i < 40; i++) {
		grow(&x, 4, 1, 1ull << 58);
		tick(&x, SECOND);
		query_sites(x.q, BY_LIVE, false, true, &s);
	}
	for (; strcmp(s->name, "decode"); s++)
		;
	CHECK(s->intervals > 3 && s->grew == s->intervals);
	CHECK(s->net_window > 1ll << 50 && s->net_window <= s->intervals * (1ll << 50));
	query_verdict(x.q, &v);
	CHECK(strstr(v.text, "/min") != NULL);
	end(&x);
}
