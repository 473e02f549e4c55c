/* SPDX-License-Identifier: MIT
 *
 * test_growth.c - the verdict depends on the samples alone: not on their phase in a saw-tooth, nor
 * on when a viewer connected, nor on marks.
 */
#include "check.h"
#include "made_query.h"

#define STEP_NS (SECOND / 4) /* as an agent ticks at first */
#define MIB 1048576.0

struct course {
	const char *name;
	double base, leak, depth, period, phase; /* MiB, MiB/s, MiB, s, 0..1 */
	double step_at, fills, noise;            /* s; s to fill half of 40 MiB; MiB */
};

static double live_at(const struct course *c, double s)
{
	double saw = c->period > 0 ? s / c->period + c->phase : 0, at = c->base + c->leak * s;
	uint64_t random = (uint64_t)(s * 4) * 0x9e3779b97f4a7c15u;

	at += c->depth * (saw - (double)(uint64_t)saw);
	at += c->step_at > 0 && s >= c->step_at ? 20 : 0;
	at += c->fills > 0 ? 40 * s / (s + c->fills) : 0;
	return (at + c->noise * (double)(random >> 40) / (1 << 24)) * MIB;
}

static void follow(struct session *x, uint32_t slot, double want)
{
	uint64_t has = made_live_of(x->m, slot).bytes, to = (uint64_t)want;

	if (to > has)
		grow(x, slot, 1, to - has);
	else if (to < has)
		shrink(x, slot, 0, has - to);
}

/* Two call sites; the second holds still. */
static void play(struct session *x, const struct course *c, double seconds, double phase)
{
	family(x);
	x->samples.phase = phase;
	while ((double)x->now / 1e9 < seconds) {
		follow(x, 6, live_at(c, (double)x->now / 1e9));
		tick(x, STEP_NS);
	}
}

static void must_be(struct session *x, const struct course *c, double seconds, double phase,
		    unsigned kinds)
{
	struct verdict v;

	query_verdict(x->q, &v);
	if (kinds & 1u << v.kind)
		return;
	printf("  %s (%.2f MiB every %.2f s from %.2f), samples at %.2f, after %.0f s: \"%s\"\n",
	       c->name, c->depth, c->period, c->phase, phase, seconds, v.text);
	fflush(stdout);
	_exit(1);
}

static void judge(const struct course *c, double seconds, double phase, unsigned kinds)
{
	struct session x;

	play(&x, c, seconds, phase);
	must_be(&x, c, seconds, phase, kinds);
	end(&x);
}

static const double phases[] = { -1, 0, 0.5 };
#define EACH(i, list) for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++)

/* Periods that meet the samples' distances exactly, and nearly: none of them is growth. */
TEST(a_saw_tooth_of_any_period_and_phase_is_no_growth)
{
	static const double periods[] = { 1.25, 2.5, 2.51, 4, 5, 5.05, 10, 10.1, 20, 20.2 };
	static const double ages[] = { 90, 200, 640 };

	EACH(p, periods)
	EACH(a, ages)
	EACH(f, phases)
	judge(&(struct course){ "saw-tooth", 5, 0, 6, periods[p], (double)(p * 7 % 10) / 10, 0, 0,
				0 },
	      ages[a], phases[f], 1u << V_FLAT);
}

TEST(a_leak_beneath_a_saw_tooth_is_one)
{
	static const double periods[] = { 1.25, 5, 5.05, 10, 20 };

	EACH(p, periods)
	EACH(f, phases)
	judge(&(struct course){ "leak beneath", 5, 0.05, 6, periods[p], 0.3, 0, 0, 0 }, 300,
	      phases[f], 1u << V_GROWING);
}

TEST(each_shape_keeps_its_name_whatever_the_samples_phase)
{
	EACH(f, phases)
	{
		judge(&(struct course){ "leak", 5, 0.05, 0, 0, 0, 0, 0, 0 }, 120, phases[f],
		      1u << V_GROWING);
		judge(&(struct course){ "leak with noise", 5, 0.05, 0, 0, 0, 0, 0, 0.5 }, 240,
		      phases[f], 1u << V_GROWING);
		judge(&(struct course){ "noise", 20, 0, 0, 0, 0, 0, 0, 2 }, 240, phases[f],
		      1u << V_FLAT);
		judge(&(struct course){ "step", 5, 0, 0, 0, 0, 70, 0, 0 }, 140, phases[f],
		      1u << V_STEP);
		judge(&(struct course){ "cache", 5, 0, 0, 0, 0, 0, 30, 0 }, 200, phases[f],
		      1u << V_FILLING);
		judge(&(struct course){ "still", 5, 0, 0, 0, 0, 0, 0, 0 }, 100, phases[f],
		      1u << V_FLAT);
		judge(&(struct course){ "shrinks", 40, -0.05, 0, 0, 0, 0, 0, 0 }, 100, phases[f],
		      1u << V_SHRINKING);
	}
}

/* MiB after s seconds. */
static double late_leak(double s)
{
	return 5 + (s > 60 ? 0.1 * (s - 60) : 0);
}
static double late_slow_leak(double s)
{
	return 5 + (s > 60 ? 0.003 * (s - 60) : 0);
}
static double step_and_leak(double s)
{
	return 5 + (s > 58 ? 20 : 0) + (s > 60 ? 0.1 * (s - 60) : 0);
}
static double load_and_leak(double s)
{
	return 5 + (s > 15 && s < 25 ? 50 : 0) + (s > 60 ? 0.1 * (s - 60) : 0);
}
static double shrink_and_leak(double s)
{
	return s < 60 ? 40 - 0.3 * s : 22 + 0.1 * (s - 60);
}
static double leak_beneath(double s)
{
	return 5 + s * 2 - (double)(uint64_t)(s * 2) + (s > 60 ? 0.1 * (s - 60) : 0);
}
static double late_load(double s)
{
	return 5 + (s > 60 ? 10 : 0);
}
static double hyperbola(double s)
{
	return 5 + 40 * s / (s + 30);
}
static double three_loads(double s)
{
	return 5 + (s > 61) + (s > 68) + (s > 75);
}
static double batches(double s)
{
	double in = s - 60 * (double)(uint64_t)(s / 60);

	return 5 + (in < 25 ? in * 0.3 : 0);
}
static double ups_and_downs(double s)
{
	double in = s / 50 - (double)(uint64_t)(s / 50);

	return 5 + 6 * in;
}

/* The heap of one call site follows f(), beside another that holds still. First and last second in
 * which it is told to grow, from `from` on; 0: it is not. */
static void growing_when(double (*f)(double s), double phase, double from, double until,
			 double *first, double *last)
{
	struct session x;
	struct verdict v;
	const struct site *s;
	uint64_t shaped = 0;

	family(&x);
	x.samples.phase = phase;
	*first = *last = 0;
	while ((double)x.now / 1e9 < until) {
		follow(&x, 6, f((double)x.now / 1e9) * MIB);
		tick(&x, STEP_NS);
		if (shaped == x.samples.serial || (double)x.now / 1e9 < from)
			continue;
		shaped = x.samples.serial;
		query_verdict(x.q, &v);
		query_sites(x.q, BY_GROWTH, false, true, &s);
		if (v.kind != V_GROWING)
			continue;
		CHECK_STR(s[0].name, "draw");
		*first = *first > 0 ? *first : (double)x.now / 1e9;
		*last = (double)x.now / 1e9;
	}
	end(&x);
}

TEST(a_leak_that_begins_late_is_told_soon)
{
	static double (*const all[])(double) = { late_leak,     late_slow_leak,  step_and_leak,
						 load_and_leak, shrink_and_leak, leak_beneath };
	double first, last;

	EACH(i, all)
	EACH(f, phases)
	{
		growing_when(all[i], phases[f], 55, 200, &first, &last);
		if (!(first > 62 && first < 60 + 26 && last > 190))
			printf("  %zu from %.2f s to %.2f\n", i, first, last);
		CHECK(first > 62 && first < 60 + 26 && last > 190);
	}
}

TEST(the_call_site_of_a_late_leak_is_steady_whatever_the_rest_does)
{
	struct session x;
	const struct site *s;

	family(&x);
	while (x.now < 85 * SECOND) {
		double at = (double)x.now / 1e9;
		follow(&x, 6, late_leak(at) * MIB);
		follow(&x, 7, (40 - (at > 60 ? 0.1 * (at - 60) : 0)) * MIB);
		tick(&x, STEP_NS);
	}
	query_sites(x.q, BY_GROWTH, false, true, &s);
	CHECK_STR(s[0].name, "draw");
	CHECK_EQ(s[0].shape, SHAPE_STEADY);
	CHECK(s[0].net_per_min > 5.8 * MIB && s[0].net_per_min < 6.2 * MIB);
	end(&x);
}

/* What slows down looks steady from near, and what was given back comes again. */
TEST(what_is_no_leak_is_none_from_near)
{
	static double (*const all[])(double) = { late_load, hyperbola, three_loads, batches,
						 ups_and_downs };
	double first, last;

	EACH(i, all)
	EACH(f, phases)
	{
		growing_when(all[i], phases[f], 55, 640, &first, &last);
		if (first > 0)
			printf("  %zu grows from %.2f s to %.2f\n", i, first, last);
		CHECK(!(first > 0));
	}
}

/* It grows no more, and the samples say so as soon as they do for one that ran from the start. */
TEST(a_late_leak_that_stops_is_told_too)
{
	struct session x;
	struct verdict v;

	family(&x);
	while (x.now < 130 * SECOND) {
		double at = (double)x.now / 1e9;
		follow(&x, 6, late_leak(at < 100 ? at : 100) * MIB);
		tick(&x, STEP_NS);
	}
	query_verdict(x.q, &v);
	CHECK(v.kind != V_GROWING);
	end(&x);
}

/* Marks every five seconds, on a saw-tooth of five seconds and on a leak: the same words with and
 * without. */
TEST(marks_do_not_matter)
{
	static const struct course all[] = {
		{ "saw-tooth", 5, 0, 6, 5, 0.4, 0, 0, 0 },
		{ "leak", 5, 0.05, 0, 0, 0, 0, 0, 0 },
	};

	EACH(c, all)
	for (double apart = 5; apart < 12; apart += 2.5) {
		struct session with, without;
		struct verdict a, b;
		uint32_t id = 0;
		play(&without, &all[c], 100, -1);
		family(&with);
		while ((double)with.now / 1e9 < 100) {
			follow(&with, 6, live_at(&all[c], (double)with.now / 1e9));
			if ((double)with.now / 1e9 >= apart * (id + 1)) {
				made_mark(with.m, ++id, 0, with.now, 0, "m");
				made_cells_end(with.m, id);
			}
			tick(&with, STEP_NS);
		}
		query_verdict(with.q, &a);
		query_verdict(without.q, &b);
		CHECK(id >= 9);
		CHECK_STR(a.text, b.text);
		must_be(&with, &all[c], 100, -1, 1u << (c ? V_GROWING : V_FLAT));
		end(&with);
		end(&without);
	}
}

/* One asked every tick, the other for the first time: the same words and the same rows. */
TEST(one_that_comes_late_judges_alike)
{
	struct course c = { "leak beneath", 5, 0.05, 1, 4, 0.1, 0, 0, 0 };
	struct session x;
	struct verdict first, late;
	const struct site *a, *b;

	family(&x);
	for (unsigned i = 0; i < 600; i++) {
		follow(&x, 6, live_at(&c, (double)x.now / 1e9));
		tick(&x, STEP_NS);
		query_verdict(x.q, &first);
	}
	struct owners *o = owners_new(x.m, &x.s);
	struct query *q = query_new(x.m, &x.s, o);
	query_verdict(q, &late);
	CHECK_STR(first.text, late.text);
	CHECK_EQ(first.kind, V_GROWING);
	CHECK_EQ(first.per_minute, late.per_minute);
	CHECK_EQ(first.at_ns, late.at_ns);
	CHECK_STR(first.word, "GROWING");
	CHECK(late.share_percent > 80 && late.site);
	size_t n = query_sites(x.q, BY_LIVE, false, true, &a);
	CHECK_EQ(query_sites(q, BY_LIVE, false, true, &b), n);
	for (size_t i = 0; i < n; i++)
		CHECK(a[i].shape == b[i].shape && a[i].net_window == b[i].net_window &&
		      a[i].grew == b[i].grew);
	query_free(q);
	owners_free(o);
	end(&x);
}

/* Too little data is too little for every viewer, and no viewer waits for an agent without
 * samples. */
TEST(not_enough_is_said)
{
	struct session x;
	struct verdict v;

	play(&x, &(struct course){ .base = 5 }, 10, -1);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_WATCHING);
	CHECK_EQ(v.needed_ns, 20 * SECOND - x.now);
	CHECK_STR(v.text, "a verdict on growth needs 10 s more");
	model_set_still(x.m); /* a past instant, or the end of a file: nothing more comes */
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_WATCHING);
	CHECK_EQ(v.needed_ns, 0);
	CHECK_STR(v.text,
		  "no verdict on growth: that takes 20 s of a run, and this is after 10.0 s");
	end(&x);
	begin(&x);
	node(&x, 1, 0, 0, "main");
	grow(&x, 1, 1, 100);
	made_tick_whole(x.m, &x.sum, 100 * SECOND);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_WATCHING);
	CHECK(strstr(v.text, "the agent is older than this memtop"));
	end(&x);
}

/* The list comes whole: what left it gives its figures to the next one. */
TEST(samples_that_leave_give_theirs_to_the_next)
{
	struct session x;
	const struct sample *list;
	struct event e = { .type = MTW_SAMPLES };

	play(&x, &(struct course){ .base = 5, .leak = 0.1 }, 30, 0.5);
	size_t n = model_samples(x.m, &list), kept = 0;
	CHECK(n > 8 && model_samples_by_slot(x.m));
	uint64_t newest = list[n - 1].f.serial;
	for (size_t i = 0; i < n; i++)
		if ((n - i) % 2)
			e.u.samples.list[kept++] = list[i].f;
	e.u.samples.count = kept;
	made_apply(x.m, &e);
	CHECK_EQ(model_samples(x.m, &list), kept);
	CHECK_EQ(list[kept - 1].f.serial, newest);
	CHECK(model_samples_by_slot(x.m));
	struct err err = { 0 };
	e.u.samples.list[0].serial = e.u.samples.list[1].serial;
	CHECK_EQ(model_apply(x.m, &e, &err), -1);
	e = (struct event){ .type = MTW_SAMPLE_LIVE };
	e.u.mark_live.mark = 9999;
	CHECK_EQ(model_apply(x.m, &e, &err), -1);
	end(&x);
}

/* A leak at 0.05 MiB/s that is stopped for `stop` seconds after `before`, and then runs for
 * `after`. */
static void leak_with_stop(struct session *x, double before, double stop, double after)
{
	struct course c = { "stopped leak", 5, 0.05, 0, 0, 0, 0, 0, 0 };
	double end = before + stop + after;

	play(x, &c, before, -1);
	stop_for(x, MTW_STOP_SIGNAL, (uint64_t)(stop * 1e9), STEP_NS);
	if (after > 0)
		made_stop(x, 0);
	while ((double)x->now / 1e9 < end) {
		follow(x, 6, live_at(&c, (double)x->now / 1e9 - stop));
		tick(x, STEP_NS);
	}
}

/* Growth before, while it is stopped, and from the first second after: the same words. */
TEST(stopped_time_does_not_count)
{
	static const double stops[] = { 5, 20, 90, 1200 };
	static const double afters[] = { 0, 0.5, 2, 5, 16, 60 };
	struct session x;
	struct verdict v;

	EACH(s, stops)
	EACH(a, afters)
	{
		leak_with_stop(&x, 60, stops[s], afters[a]);
		query_verdict(x.q, &v);
		CHECK_STR(v.word, "GROWING");
		CHECK(strstr(v.text, ", steady"));
		CHECK(v.per_minute > 2.8 * MIB && v.per_minute < 3.2 * MIB);
		CHECK(v.over_ns < (60 + (uint64_t)afters[a]) * SECOND);
		CHECK(query_window(x.q) < (60 + (uint64_t)afters[a]) * SECOND);
		end(&x);
	}
}

/* The five seconds of a start-up, and the time that a verdict takes, are times of a run, too. */
TEST(a_verdict_takes_as_long_as_without_a_stop)
{
	struct session x;
	struct verdict v;

	leak_with_stop(&x, 3, 60, 10);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_WATCHING);
	CHECK_STR(v.text, "a verdict on growth needs 7 s more");
	end(&x);
}
