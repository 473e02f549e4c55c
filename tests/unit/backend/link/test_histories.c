/* SPDX-License-Identifier: MIT
 *
 * test_histories.c - simulated programs of three minutes: their verdict, the call site that it
 * names, and the order of the sites.
 */
#include "check.h"
#include "made_query.h"

#define SECONDS 180
#define MIB 1048576.0

/* Live bytes of a site at a second. */
typedef double curve(unsigned second);

/* clang-format off */
static double still(unsigned s) { return (void)s, 8 * MIB; }
static double fast_leak(unsigned s) { return s * 2 * MIB; }
static double slow_leak(unsigned s) { return s * 4096.0; }
static double second_leak(unsigned s) { return s * 1 * MIB; }
static double cache(unsigned s) { return 40 * MIB * s / (s + 40); }
static double ring(unsigned s) { return s < 25 ? s * MIB : 25 * MIB; }
static double a_step(unsigned s) { return s < 95 ? MIB : 21 * MIB; }
static double saw(unsigned s) { return 5 * MIB + s % 23 * 0.6 * MIB; }
static double burst(unsigned s) { return s < 4 ? s * 10 * MIB : 30 * MIB; }
static double less(unsigned s) { return 60 * MIB - s * 0.25 * MIB; }
static double small_leak(unsigned s) { return s * 0.3 * MIB; }
/* clang-format on */

static double noise(unsigned s)
{
	return 20 * MIB + (double)(s * 2654435761u % 1000) * MIB / 4000;
}

struct history {
	const char *name;
	curve *sites[3]; /* of first(), second(), third(); NULL = none */
	double rss_per_s;
	const char *words; /* that the verdict begins with */
	const char *named; /* call site in it; NULL: none has to be */
	const char *order; /* of those that are not flat */
};

/* clang-format off */
static const struct history histories[] = {
	{ "a fast leak", { still, fast_leak }, 0, "GROWING +120.0M/min for 3 min, steady", "second",
	  "second steady" },
	{ "a slow leak", { still, slow_leak }, 0, "GROWING +240.0K/min for 3 min, steady", "second",
	  "second steady" },
	{ "a cache that fills", { still, cache }, 0, "FILLING", "second", "second slowing" },
	{ "a ring buffer", { still, ring }, 0, "STEP +17.0M before 0:00:33", "second",
	  "second step" },
	{ "a step", { a_step, still }, 0, "STEP +20.0M before 0:01:", "first", "first step" },
	{ "a saw-tooth", { still, saw }, 0, "UP AND DOWN", NULL, "second saw-tooth" },
	{ "a burst at the start", { burst, still }, 0, "FLAT", NULL, "" },
	{ "fragmentation", { still, still }, MIB, "RSS GROWS +60.0M/min", NULL, "" },
	{ "one that shrinks", { less, still }, 0, "SHRINKING -14.6M/min", NULL, "first shrinking" },
	{ "noise", { noise, still }, 0, "UP AND DOWN", NULL, "first saw-tooth" },
	{ "two leaks", { second_leak, fast_leak, still }, 0,
	  "GROWING +180.0M/min for 3 min, steady", "second",
	  "second steady, first steady" },
	{ "a leak inside churn", { saw, small_leak, still }, 0,
	  "GROWING +16.8M/min for 3 min, steady", "second", "second steady, first saw-tooth" },
	{ "nothing happens", { still, still, still }, 0, "FLAT", NULL, "" },
};
/* clang-format on */

static void follow(struct session *x, uint32_t slot, uint64_t *live, double want)
{
	uint64_t to = (uint64_t)want, born = 40000 + (to > *live ? to - *live : 0),
		 gone = 40000 + (to < *live ? *live - to : 0);
	struct tally t = made_now(x->m, slot);

	if (!made_has_slot(x->m, slot))
		made_slot(x->m, slot, slot, 0);
	made_counts(x->m, slot, t.alloc_blocks + 21, t.alloc_bytes + born, t.free_blocks + 20,
		    t.free_bytes + gone);
	x->sum.alloc_blocks += 21; /* 20 of them come and go between two looks */
	x->sum.alloc_bytes += born;
	x->sum.free_blocks += 20;
	x->sum.free_bytes += gone;
	*live = to;
}

static const char *word_of(enum shape s)
{
	static const char *const words[] = {
		[SHAPE_STEADY] = "steady",       [SHAPE_SLOWING] = "slowing",
		[SHAPE_STEP] = "step",           [SHAPE_SAWTOOTH] = "saw-tooth",
		[SHAPE_FLAT] = "flat",           [SHAPE_YOUNG] = "young",
		[SHAPE_SHRINKING] = "shrinking",
	};

	return words[s];
}

static const char *order_of(struct session *x)
{
	static char text[200];
	const struct site *s;
	size_t n = query_sites(x->q, BY_GROWTH, false, true, &s), at = 0;

	text[0] = 0;
	for (size_t i = 0; i < n; i++)
		if (s[i].shape != SHAPE_FLAT)
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %s",
					       at ? ", " : "", s[i].name, word_of(s[i].shape));
	return text;
}

static void judge(const struct history *h)
{
	static const char *const names[] = { "first", "second", "third" };
	struct session x;
	struct verdict v;
	uint64_t live[3] = { 0 };
	const struct site *s;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 0; i < 3; i++)
		node(&x, i + 2, 1, 0, names[i]);
	for (unsigned second = 1; second <= SECONDS; second++) {
		for (uint32_t i = 0; i < 3; i++)
			if (h->sites[i])
				follow(&x, i + 2, &live[i], h->sites[i](second));
		made_process(x.m, (uint64_t)(300 * MIB + second * h->rss_per_s) + live[0] +
					  live[1] + live[2]);
		tick(&x, SECOND);
		query_sites(x.q, BY_GROWTH, false, true, &s); /* as a viewer does */
	}
	query_verdict(x.q, &v);
	const char *order = order_of(&x);
	bool right = !strncmp(v.text, h->words, strlen(h->words)) &&
		     (!h->named || strstr(v.text, h->named)) && !strcmp(order, h->order);
	if (!strcmp(h->name, "noise")) /* no alarm, whatever the last swing left */
		right &= v.kind == V_FLAT;
	if (!right) {
		printf("  %s: \"%s\", sites \"%s\"\n", h->name, v.text, order);
		fflush(stdout);
		_exit(1);
	}
	end(&x);
}

TEST(each_history_is_called_what_it_is)
{
	for (size_t i = 0; i < sizeof histories / sizeof histories[0]; i++)
		judge(&histories[i]);
}
