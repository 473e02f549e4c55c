/* SPDX-License-Identifier: MIT
 *
 * test_verdicts.c - the verdict and the shapes of sites: growing, filling, stepping, and the site
 * to blame.
 */
#include "check.h"
#include "made_query.h"

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

/* Where most of the growth is memory kept by the allocator or mapped by the program, the sentence
 * says so. */
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

/* As in Memory (7); where malloc's blocks grow (PYTHONMALLOC=malloc), it names them. */
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
	CHECK(strstr(v.text, "99 % of it: 1 expected call site, 12.4M"));
	CHECK_EQ(v.kind, V_GROWING);
	CHECK_EQ(v.site, 0);
	expect(&x, s[1].id, true);
	query_sites(x.q, BY_LIVE, false, true, &s);
	query_verdict(x.q, &v);
	CHECK(strstr(v.text,
		     "AS EXPECTED +5.8M/min for 118 s.  100 % of it: 2 expected call sites, "
		     "12.5M"));
	CHECK_EQ(v.kind, V_FLAT);
	grow(&x, 4, 1, 100000); /* once */
	tick(&x, SECOND);
	query_sites(x.q, BY_LIVE, false, true, &s);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_FLAT);
	end(&x);
}

/* At the place of the cut is a character of two bytes. */
TEST(a_name_that_is_cut_ends_in_dots)
{
#define FIFTY "fifty_bytes_of_a_name_that_goes_on_and_on_and_on__"
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },
		{ 2, 1, 0, FIFTY "56byte\xc3\xa9_and_more", 100 },
	};
	struct session x;
	const struct site *s;
	struct verdict v;

	BEGIN_WITH(&x, paths);
	for (unsigned i = 1; i <= 130; i++) {
		grow(&x, 2, 1, 100000);
		tick(&x, SECOND);
		query_sites(x.q, BY_LIVE, false, true, &s);
	}
	query_verdict(x.q, &v);
	CHECK(strstr(v.text, " " FIFTY "56byte... "));
	CHECK(!strchr(v.text, '\xc3'));
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
	CHECK_EQ(v.kind, V_GROWING);
	CHECK(v.over_ns < 20 * SECOND);
	end(&x);
}

/* When it ends, one sentence says that and what its heap did. */
TEST(state_and_growth_are_two_answers)
{
	static const struct {
		uint64_t (*f)(unsigned second);
		enum verdict_kind growth;
		const char *word, *says, *alive;
	} t[] = {
		{ steady, V_GROWING, "GROWING", "EXITED, GROWING +", NULL },
		{ flat, V_FLAT, "FLAT", "EXITED, FLAT ", "4.8M alive at the end" },
	};
	struct session x;
	struct verdict v, growth;

	for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
		family(&x);
		for (unsigned i = 1; i <= 130; i++) {
			uint64_t is = i > 1 ? t[k].f(i - 1) : 0, want = t[k].f(i);
			if (want > is)
				grow(&x, 6, 1, want - is);
			else
				shrink(&x, 6, 0, is - want);
			tick(&x, SECOND);
		}
		query_verdict(x.q, &growth);
		CHECK(growth.kind == t[k].growth && growth.growth == t[k].growth);
		model_set_state(x.m, MTW_EXITED, 0, true);
		made_tick(x.m, x.now, MTW_TICK_COMPLETE | MTW_TICK_FINAL);
		query_verdict(x.q, &v);
		CHECK_EQ(v.kind, V_ENDED);
		CHECK_EQ(v.growth, t[k].growth);
		CHECK_STR(v.word, "EXITED");
		CHECK_STR(v.growth_word, t[k].word);
		CHECK(!strncmp(v.text, t[k].says, strlen(t[k].says)) &&
		      strstr(v.text, growth.text));
		CHECK(!strstr(v.text, "alive") == !t[k].alive);
		CHECK(!t[k].alive || strstr(v.text, t[k].alive));
		CHECK(strstr(v.text, "draw"));
		CHECK_EQ(v.per_minute, growth.per_minute);
		end(&x);
	}
}

TEST(verdicts_of_beginning_and_end)
{
	struct session x;
	struct verdict v;

	begin(&x);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_EMPTY);
	CHECK_STR(v.text, "waiting for the first allocation");
	model_set_still(x.m);
	query_verdict(x.q, &v);
	CHECK_STR(v.text, "no allocation up to here");
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

/* A lying peer may claim impossible amounts: sums stay in bounds. */
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
