/* SPDX-License-Identifier: MIT
 *
 * test_life.c - how much call sites allocate and free again, and how long their blocks live.
 */
#include "check.h"
#include "made_query.h"

#define TICK (SECOND / 4)
#define MS 1000000ull

/* decode: slots 4 and 5, draw: slot 6, log_line: slot 7. Each was one block at first. */
static const struct site *site(struct session *x, const char *name)
{
	const struct site *s;
	size_t n = query_sites(x->q, BY_LIVE, false, true, &s);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(s[i].name, name))
			return &s[i];
	CHECK(!"no such site");
	return NULL;
}

static void look(struct session *x)
{
	const struct site *s;

	tick(x, TICK);
	query_sites(x->q, BY_LIVE, false, false, &s); /* as a viewer does */
}

/* So many blocks of 100 bytes come and go each tick. */
static void turn_over(struct session *x, uint32_t slot, unsigned came, unsigned went)
{
	struct tally t = made_now(x->m, slot);

	x->sum.alloc_blocks += came;
	x->sum.alloc_bytes += came * 100;
	x->sum.free_blocks += went;
	x->sum.free_bytes += went * 100;
	made_counts(x->m, slot, t.alloc_blocks + came, t.alloc_bytes + came * 100,
		    t.free_blocks + went, t.free_bytes + went * 100);
}

static void for_seconds(struct session *x, unsigned seconds, uint32_t slot, unsigned came,
			unsigned went)
{
	for (unsigned i = 0; i < seconds * 4; i++) {
		turn_over(x, slot, came, went);
		look(x);
	}
}

TEST(life_by_what_is_alive_and_what_goes)
{
	struct session x;

	family(&x);
	grow(&x, 4, 18, 1800); /* with slot 5's: 20 blocks are alive */
	look(&x);
	for_seconds(&x, 4, 4, 100, 100);
	CHECK_EQ(site(&x, "decode")->life, LIFE_UNKNOWN); /* too soon */
	for_seconds(&x, 16, 4, 100, 100);
	const struct site *s = site(&x, "decode");
	CHECK_EQ(s->life, LIFE_ABOUT);
	CHECK(s->life_ns > 49 * MS && s->life_ns < 51 * MS); /* 20 blocks, 400 a second */
	CHECK(s->churn_known);
	CHECK(s->churn_bytes > 39900 && s->churn_bytes < 40100);
	CHECK_EQ(query_sites(x.q, BY_LIFE, false, true, &s), 3);
	CHECK_STR(s[0].name, "decode");
	CHECK_EQ(query_sites(x.q, BY_CHURN, false, true, &s), 3);
	CHECK_STR(s[0].name, "decode");
	end(&x);
}

TEST(none_was_ever_seen_alive)
{
	struct session x;

	family(&x);
	shrink(&x, 7, 1, 50);
	look(&x);
	for_seconds(&x, 20, 7, 1000, 1000);
	const struct site *s = site(&x, "log_line");
	CHECK_EQ(s->life, LIFE_BELOW);
	CHECK(s->life_ns > 200000 && s->life_ns < 300000); /* one block in 4,000 a second */
	CHECK_EQ(live_blocks(&s->amounts.sum), 0);
	end(&x);
}

TEST(nothing_is_freed)
{
	struct session x;

	family(&x);
	look(&x);
	for_seconds(&x, 50, 6, 3, 0);
	CHECK_EQ(site(&x, "draw")->life, LIFE_UNKNOWN);
	for_seconds(&x, 50, 6, 3, 0);
	const struct site *s = site(&x, "draw");
	CHECK_EQ(s->life, LIFE_ABOVE);
	CHECK(s->life_ns >= 99 * SECOND && s->life_ns <= 101 * SECOND);
	CHECK(s->churn_known);
	CHECK_EQ(s->churn_bytes, 0); /* all of it is NET */
	turn_over(&x, 6, 0, 1);
	look(&x);
	CHECK_EQ(site(&x, "draw")->life, LIFE_UNKNOWN);
	end(&x);
}

/* Another instant of the same program takes the model's place. */
static void goto_instant(struct session *x, uint64_t time_ns)
{
	struct model *then = model_new();
	struct err err;

	CHECK_EQ(model_seed(then, x->m, &err), 0);
	made_counts(then, 6, 2, 200, 0, 0);
	made_totals(then, &(struct tally){ .alloc_blocks = 2, .alloc_bytes = 200 });
	made_tick(then, time_ns, MTW_TICK_COMPLETE);
	model_swap(x->m, then);
	model_free(then);
}

TEST(an_earlier_instant_is_no_quiet_time)
{
	struct session x;

	family(&x);
	for_seconds(&x, 100, 6, 3, 0);
	CHECK_EQ(site(&x, "draw")->life, LIFE_ABOVE);
	goto_instant(&x, 80 * SECOND);
	CHECK_EQ(site(&x, "draw")->life, LIFE_UNKNOWN);
	goto_instant(&x, 70 * SECOND);
	CHECK_EQ(site(&x, "draw")->life, LIFE_UNKNOWN);
	end(&x);
}

/* Forty seconds each: no ten seconds are enough to see all of them replaced. */
TEST(a_life_longer_than_the_short_window)
{
	struct session x;

	family(&x);
	grow(&x, 6, 799, 79900);
	look(&x);
	for_seconds(&x, 30, 6, 5, 5);
	CHECK_EQ(site(&x, "draw")->life, LIFE_UNKNOWN);
	for_seconds(&x, 150, 6, 5, 5);
	const struct site *s = site(&x, "draw");
	CHECK_EQ(s->life, LIFE_ABOUT);
	CHECK(s->life_ns > 39 * SECOND && s->life_ns < 41 * SECOND);
	end(&x);
}

TEST(what_grows_shrinks_or_bursts_has_none)
{
	struct session x;

	family(&x);
	grow(&x, 4, 4000, 400000);
	look(&x);
	for (unsigned i = 0; i < 60; i++) {
		turn_over(&x, 4, 0, 50);   /* shrinks */
		turn_over(&x, 6, 100, 80); /* grows */
		if (i == 50)
			turn_over(&x, 7, 5000, 5000);
		look(&x);
	}
	CHECK_EQ(site(&x, "decode")->life, LIFE_UNKNOWN);
	CHECK_EQ(site(&x, "decode")->churn_bytes, 0);
	CHECK_EQ(site(&x, "draw")->life, LIFE_UNKNOWN);
	/* of 400 a second 320 go again: 40,000 - 8,000 */
	CHECK(site(&x, "draw")->churn_bytes > 31900 && site(&x, "draw")->churn_bytes < 32100);
	CHECK_EQ(site(&x, "log_line")->life, LIFE_UNKNOWN);
	end(&x);
}

/* A thousand blocks that stay do not make those that go live for long: nothing is told. */
TEST(what_stays_beside_what_goes)
{
	struct session x;

	family(&x);
	grow(&x, 6, 9000, 900000);
	look(&x);
	for_seconds(&x, 30, 6, 100, 100);
	CHECK_EQ(site(&x, "draw")->life, LIFE_UNKNOWN);
	end(&x);
}

static void two_turn_over(struct session *x)
{
	for (unsigned i = 0; i < 60; i++) {
		turn_over(x, 8, 100, 100);
		turn_over(x, 6, 10, 10);
		look(x);
	}
}

/* A stack that gets another name takes its past along, and the sums of both are of other stacks
 * than before. */
TEST(names_that_come_late)
{
	struct session x;

	family(&x);
	node(&x, 8, 2, 1, NULL);
	grow(&x, 8, 1, 100);
	look(&x);
	two_turn_over(&x);
	CHECK_EQ(site(&x, "draw")->life, LIFE_ABOUT);
	made_symbol(&x.s, 1, 8 * 16, "draw");
	look(&x);
	CHECK_EQ(site(&x, "draw")->life, LIFE_UNKNOWN);
	CHECK(site(&x, "draw")->churn_known); /* of the stacks that it has now */
	two_turn_over(&x);
	const struct site *s = site(&x, "draw");
	CHECK_EQ(s->life, LIFE_ABOUT);
	CHECK(s->life_ns > 4 * MS && s->life_ns < 5 * MS); /* two blocks, 440 a second */
	end(&x);
}

/* A filter, or another base, is none of its business. */
TEST(it_outlives_a_filter)
{
	struct session x;
	struct err err = { 0 };

	family(&x);
	look(&x);
	for_seconds(&x, 20, 6, 100, 100);
	uint64_t before = site(&x, "draw")->life_ns;
	CHECK(before != 0);
	CHECK_EQ(query_set_filter(x.q, "draw", &err), 0);
	look(&x);
	for_seconds(&x, 1, 6, 100, 100);
	CHECK_EQ(site(&x, "draw")->life, LIFE_ABOUT);
	CHECK(site(&x, "draw")->life_ns > before * 9 / 10 &&
	      site(&x, "draw")->life_ns < before * 11 / 10);
	end(&x);
}

/* Per second. */
static double calls(struct session *x)
{
	return model_per_second(x->m, site(x, "log_line")->amounts.rate.blocks);
}

/* Calls of a site are of the last ten seconds, as all rates (test_rates.c): what has just stopped
 * stays in them. */
TEST(calls_that_stopped)
{
	struct session x;

	family(&x);
	look(&x);
	for_seconds(&x, 20, 7, 100, 0);
	CHECK(calls(&x) == 400);
	for_seconds(&x, 1, 7, 0, 0);
	double told = calls(&x);
	CHECK(told > 350 && told < 400);
	CHECK(told == model_rates(x.m).alloc_blocks);
	for_seconds(&x, 11, 7, 0, 0);
	CHECK(calls(&x) == 0);
	end(&x);
}
