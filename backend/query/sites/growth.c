/* SPDX-License-Identifier: MIT
 *
 * growth.c - how call sites and the whole heap grew, interval by interval, and their shape.
 *
 * All rows and the verdict share one rule and one source: the samples that the agent takes
 * (agent/collect/samples.c). Nothing here depends on when this process connected, what it saw, how
 * often it looks, or which marks users set: viewers, reports and files with the same samples agree.
 *
 *     spans      samples of the last ten minutes joined to at most seven, each from its first
 *                sample to the next one's
 *     low        the lowest of a span: of a site at its samples, of the whole heap at every tick of
 *                the agent
 *     interval   from the low of one span to the low of the next: what stays of all ups and downs
 *     noise      a span in which a saw-tooth was seen m times hides some 1/(m+1) of it: growth
 *                below four times that is chance
 *     onset      of growth that began late: all is judged from there, see onset_of()
 *
 * Times are running times: while the program is stopped, nothing can grow.
 *
 * So a saw-tooth has level lows, whatever its period relative to the samples', and a leak beneath
 * it shows. A program's first five seconds, its start-up, do not count. Samples cover all stacks,
 * whatever the filter shows: typing a filter is no growth.
 */
#include "query/sites/growth.h"
#include "query/sites/sites.h"

#include <stdlib.h>

#define NEEDED_SAMPLES 8u /* and so many of them, two a span */
#define SPANS_LEAST 4u
#define ONSET_NS 10000000000ull /* growth that began later is seen after so long */
#define TICKS_A_SPAN 20u        /* at least: low and high of the whole come from so many */
#define CHANCE 4u
#define AGAIN 3u /* times */

void query_travel(struct query *q)
{
	query_mine(q);
	if (q->sites)
		life_forget(q->sites); /* no time passes between two instants */
}

void query_pass(struct query *q, bool on)
{
	query_mine(q);
	q->passes = on;
}

static void cut_at(const struct model *m, const struct site_table *t, size_t first, size_t spans,
		   struct growth *g)
{
	size_t n = t->sample_count, steps = n - 1 - first;

	for (size_t i = 0; i <= spans; i++)
		g->edge[i] = (uint32_t)(first + i * steps / spans);
	for (size_t i = 0; i < spans; i++)
		g->at_ns[i] = model_running(m, t->samples[g->edge[i]].time_ns);
	g->end_ns = model_running(m, t->samples[n - 1].time_ns);
	g->count = spans - 1;
	for (size_t i = 0; i < g->count; i++)
		g->ns[i] = g->at_ns[i + 1] - g->at_ns[i];
	g->needed_ns = 0;
}

static void cut_spans(const struct model *m, struct site_table *t)
{
	struct growth *g = &t->growth;
	size_t first = 0, n = t->sample_count;
	uint64_t ready = GROWTH_NEEDED_NS, now = model_running(m, model_time(m));

	*g = (struct growth){ .needed_ns = ready > now ? ready - now : 1 };
	while (first < n && model_running(m, t->samples[first].time_ns) < GROWTH_START_UP_NS)
		first++;
	if (n - first < NEEDED_SAMPLES || model_running(m, t->samples[n - 1].time_ns) < ready)
		return;
	size_t spans = (n - 1 - first) / 2;
	g->from = (uint32_t)first;
	cut_at(m, t, first,
	       spans < SPANS_LEAST ? SPANS_LEAST
	       : spans > SPANS_MAX ? SPANS_MAX
				   : spans,
	       g);
}

/* One figure per sample, or the lowest and the largest drop since the previous one. */
struct curve {
	const uint64_t *live, *low, *fall;
};

static uint64_t fall_at(const struct curve *c, uint32_t i)
{
	return c->fall ? c->fall[i] : c->live[i] < c->live[i - 1] ? c->live[i - 1] - c->live[i] : 0;
}

static int largest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* The typical repeated drop: one or two drops make no saw-tooth. */
static uint64_t usual_fall(const struct growth *g, const struct curve *c)
{
	uint64_t falls[MTW_SAMPLES_MAX];
	size_t n = 0;

	for (uint32_t i = g->from + 1; i <= g->edge[g->count + 1]; i++)
		falls[n++] = fall_at(c, i);
	qsort(falls, n, sizeof *falls, largest_first);
	return falls[AGAIN - 1];
}

/* Did it fall in each span? Otherwise the low of some is just a point on the way up. */
static bool always_falls(const struct growth *g, const struct curve *c, uint64_t usual)
{
	for (size_t s = 0; s <= g->count; s++) {
		uint32_t i = g->edge[s] + 1;
		while (i <= g->edge[s + 1] && fall_at(c, i) < usual / 2)
			i++;
		if (i > g->edge[s + 1])
			return false;
	}
	return true;
}

static uint64_t low_of(const struct growth *g, const struct curve *c, size_t span)
{
	uint64_t low = c->live[g->edge[span]];

	for (uint32_t i = g->edge[span] + 1; i <= g->edge[span + 1]; i++) {
		uint64_t x = c->low ? c->low[i] : c->live[i];
		low = x < low ? x : low;
	}
	return low;
}

static void rise_of(const struct growth *g, const struct curve *c, uint64_t live, struct rise *r)
{
	uint64_t low = low_of(g, c, 0), usual = usual_fall(g, c), before;
	size_t seen = (g->edge[g->count + 1] - g->edge[0]) / (g->count + 1) + 1;

	*r = (struct rise){ 0 };
	for (size_t i = 0; i < g->count; i++) {
		before = low;
		low = low_of(g, c, i + 1);
		r->net[i] = net_clamped((int64_t)(low - before));
		r->total += r->net[i];
	}
	if (c->low && always_falls(g, c, usual))
		seen = TICKS_A_SPAN;
	struct swing swing = { .usual = usual, .noise = usual / (seen + 1) * CHANCE };
	r->shape = shape_of(r->net, g->ns, g->count, live, &swing, &r->grew);
}

static uint64_t newest_live(const struct site_table *t)
{
	return t->sample_count ? t->samples[t->sample_count - 1].live_bytes : 0;
}

/* The lowest from sample i to the next. */
static uint64_t level(const struct curve *c, uint32_t i)
{
	return c->low && c->low[i + 1] < c->live[i] ? c->low[i + 1] : c->live[i];
}

/*
 * In as much time before the spans it rose at most half as fast, but for one step: what slows down
 * only looks steady from near.
 */
static bool quiet_before(const struct model *m, const struct site_table *t, const struct growth *g,
			 const struct curve *c, int64_t total)
{
	uint64_t length = g->at_ns[g->count] - g->at_ns[0], since = g->at_ns[0], rose = 0, most = 0,
		 most_ns = 0;
	uint32_t first = g->edge[0];

	while (first > g->from && g->at_ns[0] - since < length) {
		uint64_t low = level(c, first - 1), high = level(c, first), until = since;
		uint64_t by = high > low ? high - low : 0;
		since = model_running(m, t->samples[--first].time_ns);
		rose += by;
		if (by >= most) {
			most = by;
			most_ns = until - since;
		}
	}
	return g->edge[0] - first >= SPANS_LEAST &&
	       (double)(rose - most) * (double)length * 2 <=
		       (double)total * (double)(g->at_ns[0] - since - most_ns);
}

/* How long it rose before the fall at sample i. */
static uint64_t rose_for(const struct model *m, const struct site_table *t, const struct growth *g,
			 const struct curve *c, uint32_t i)
{
	uint32_t first = i - 1;

	while (first > g->from && c->live[first - 1] < c->live[first])
		first--;
	return model_running(m, t->samples[i - 1].time_ns) -
	       model_running(m, t->samples[first].time_ns);
}

/* Growth that is no more may be the next rise of a saw-tooth: of one that fell twice, or rose for
 * at least half as long before it fell. */
static uint64_t may_fall(const struct model *m, const struct site_table *t, const struct growth *g,
			 const struct curve *c)
{
	uint64_t most = 0, second = 0;
	uint32_t at = 0;

	for (uint32_t i = g->from + 1; i <= g->edge[g->count + 1]; i++) {
		uint64_t x = fall_at(c, i);
		if (x > most) {
			second = most;
			most = x;
			at = i;
		} else if (x > second) {
			second = x;
		}
	}
	bool again = at && rose_for(m, t, g, c, at) * 2 >= g->at_ns[g->count] - g->at_ns[0];
	return again && most > second * 2 ? most : second * 2;
}

/* The first interval is no part of the quiet time before. */
static bool began(const struct growth *g, const struct rise *r)
{
	uint64_t length = g->at_ns[g->count] - g->at_ns[0];

	return (double)r->net[0] * (double)length >= 0.75 * (double)r->total * (double)g->ns[0];
}

/*
 * Growth that began late, and is steady since: the largest part of the samples that ends with the
 * newest, is steady from its first interval on, and has a quiet time before it. False: there is
 * none.
 */
static bool onset_of(const struct model *m, const struct site_table *t, const struct curve *c,
		     struct growth *g, struct rise *r)
{
	uint32_t n = (uint32_t)t->sample_count;
	struct growth late = { .from = g->from };

	for (uint32_t first = g->from + SPANS_LEAST; first + SPANS_LEAST < n; first++) {
		uint32_t steps = n - 1 - first;
		cut_at(m, t, first, steps > SPANS_MAX ? SPANS_MAX : steps, &late);
		if (late.end_ns - late.at_ns[0] < ONSET_NS)
			return false;
		rise_of(&late, c, newest_live(t), r);
		if (r->shape != SHAPE_STEADY || !began(&late, r) ||
		    (uint64_t)r->total <= may_fall(m, t, &late, c) ||
		    !quiet_before(m, t, &late, c, r->total))
			continue;
		*g = late;
		return true;
	}
	return false;
}

static void rise_of_all(const struct model *m, struct site_table *t)
{
	uint64_t live[MTW_SAMPLES_MAX], low[MTW_SAMPLES_MAX], fall[MTW_SAMPLES_MAX],
		rss[MTW_SAMPLES_MAX];
	struct growth *g = &t->growth;
	struct curve whole = { live, low, fall };
	struct rise late;

	for (size_t i = 0; i < t->sample_count; i++) {
		live[i] = t->samples[i].live_bytes;
		low[i] = t->samples[i].low_bytes;
		fall[i] = t->samples[i].fall_bytes;
		rss[i] = t->samples[i].rss_bytes;
	}
	rise_of(g, &whole, newest_live(t), &g->whole);
	if (g->whole.shape != SHAPE_STEADY && onset_of(m, t, &whole, g, &late))
		g->whole = late;
	rise_of(g, &(struct curve){ rss, NULL, NULL }, rss[t->sample_count - 1], &g->rss);
}

static const uint64_t *held_at_samples(const struct query_site *s)
{
	static const uint64_t none[MTW_SAMPLES_MAX];

	return s->held[AT_SHAPES].at ? s->held[AT_SHAPES].at : none;
}

static void shape_site(const struct model *m, const struct site_table *t, struct query_site *s)
{
	struct growth g = t->growth, late = g;
	struct rise r = { .shape = SHAPE_YOUNG }, since;
	struct curve c = { held_at_samples(s), NULL, NULL };

	g.count = t->by_slot ? g.count : 0;
	if (g.count)
		rise_of(&g, &c, newest_live(t), &r);
	if (g.count && r.shape != SHAPE_STEADY && c.live[t->sample_count - 1] &&
	    onset_of(m, t, &c, &late, &since)) {
		g = late;
		r = since;
	}
	double minutes = g.count ? (double)(g.at_ns[g.count] - g.at_ns[0]) / 6e10 : 0;
	s->pub.shape = r.shape;
	s->pub.grew = r.grew;
	s->pub.intervals = (uint32_t)g.count;
	s->pub.net_window = r.total;
	s->pub.net_per_min = minutes > 0 ? (int64_t)((double)r.total / minutes) : 0;
}

static void draw_trend(const struct site_table *t, struct query_site *s)
{
	s->pub.trend = held_at_samples(s);
	s->pub.trend_count = t->by_slot ? (uint32_t)t->sample_count : 0;
	s->pub.trend_end = live_bytes(&s->all.sum);
}

/* Samples wait for their slots; without any by slot, only the whole is judged. */
static bool take_samples(struct query *q, struct site_table *t)
{
	const struct sample *list;
	size_t n = model_samples(q->m, &list);
	bool by_slot = model_samples_by_slot(q->m);

	if (by_slot)
		sites_at_samples(q, t);
	if (!by_slot && t->by_slot && model_complete(q->m) && n && list[0].whole)
		return false; /* the newest are under way */
	for (size_t i = 0; i < n; i++)
		t->samples[i] = list[i].f;
	t->sample_count = n;
	t->by_slot = by_slot;
	return true;
}

void growth_update(struct query *q, struct site_table *t)
{
	bool taken = take_samples(q, t);

	if (taken)
		cut_spans(q->m, t);
	if (taken && t->growth.count)
		rise_of_all(q->m, t);
	uint64_t as_of = t->at_samples.publications + 1;
	for (size_t i = 0; i < t->count; i++) {
		struct query_site *s = t->sites[i];
		if (taken && (t->shaped != as_of || !s->pub.trend))
			shape_site(q->m, t, s);
		draw_trend(t, s);
	}
	if (taken)
		t->shaped = as_of;
}

uint64_t query_window(const struct query *q)
{
	const struct growth *g = q->sites ? &q->sites->growth : NULL;

	return g && g->count ? g->at_ns[g->count] - g->at_ns[0] : 0;
}

int64_t growth_steady(const struct site_table *t)
{
	uint64_t net = 0; /* modulo 2^64: of peers that lie it is anything */

	for (size_t i = 0; i < t->count; i++) {
		const struct site *s = &t->sites[i]->pub;
		if (s->stacks && !(s->flags & ROW_EXPECTED) && s->shape == SHAPE_STEADY)
			net += (uint64_t)s->net_window;
	}
	return (int64_t)net;
}

struct expected_growth growth_expected(const struct site_table *t)
{
	struct expected_growth x = { 0 };

	for (size_t i = 0; i < t->count; i++) {
		const struct site *s = &t->sites[i]->pub;
		if (!s->stacks || !(s->flags & ROW_EXPECTED) || s->net_window <= 0)
			continue;
		x.net = net_clamped(x.net + s->net_window);
		x.live_bytes += live_bytes(&s->amounts.sum);
		x.sites++;
	}
	return x;
}

uint32_t growth_top(struct site_table *t, int64_t *net, const struct site **site)
{
	uint32_t best = 0;

	*net = 0;
	for (size_t i = 0; i < t->count; i++) {
		const struct site *s = &t->sites[i]->pub;
		bool more = s->net_window > *net ||
			    (best && s->net_window == *net && site_first(s, *site));
		if (s->stacks && !(s->flags & ROW_EXPECTED) && more) {
			*net = s->net_window;
			*site = s;
			best = s->id;
		}
	}
	return best;
}
