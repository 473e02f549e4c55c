/* SPDX-License-Identifier: MIT
 *
 * query_growth.c - how call sites and the whole heap grew, interval by interval, and their shape.
 *
 * One rule for all rows and for the verdict, so that they cannot disagree: intervals lie between
 * the user's marks when there are three or more (the last one still runs), else between our own
 * samples of the last ten minutes, taken every five seconds at first and then every ten, joined to
 * at most six. A program's first five seconds do not count: a program that starts up grows.
 *
 * Samples are of all stacks, whatever the filter shows: a filter typed in is no growth. While the past
 * is shown they are of the time before its instant, and those of now are put aside.
 */
#include "query_sites.h"

#include <stdlib.h>
#include <string.h>

#define NS 1000000000ull
#define FIRST_INTERVAL_NS (5 * NS)
#define LAST_INTERVAL_NS (10 * NS)
#define START_UP_NS (5 * NS)
#define MARKS_APART_NS (5 * NS)  /* of marks closer than this the first one is taken */

static uint64_t live_now(const struct query *q)
{
	return live_bytes(&model_totals(q->m)->sum);
}

/* Keeps every second sample while they are dense, then lets the oldest eighth go. */
static void make_room(struct site_table *t)
{
	bool thin = t->interval_ns < LAST_INTERVAL_NS;
	size_t kept = thin ? SAMPLES / 2 : SAMPLES - SAMPLES / 8;

	for (size_t k = 0; k < kept; k++) {
		size_t from = thin ? 2 * k + 1 : k + SAMPLES / 8;
		t->times[k] = t->times[from];
		t->totals[k] = t->totals[from];
		for (size_t i = 0; i < t->count; i++)
			t->sites[i]->samples[k] = t->sites[i]->samples[from];
	}
	t->sample_count = kept;
	t->interval_ns = LAST_INTERVAL_NS;
}

static void take_sample(struct query *q, struct site_table *t)
{
	uint64_t now = model_time(q->m);

	while (t->sample_count && t->times[t->sample_count - 1] > now)
		t->sample_count--; /* an earlier instant is shown */
	if (!t->sample_count)
		t->interval_ns = FIRST_INTERVAL_NS;
	else if (now < t->times[t->sample_count - 1] + t->interval_ns)
		return;
	if (!model_complete(q->m))
		return;
	if (t->sample_count == SAMPLES)
		make_room(t);
	t->times[t->sample_count] = now;
	t->totals[t->sample_count] = live_now(q);
	for (size_t i = 0; i < t->count; i++)
		t->sites[i]->samples[t->sample_count] = live_bytes(&t->sites[i]->all.tally);
	t->sample_count++;
}

struct growth_kept {
	uint64_t times[SAMPLES], totals[SAMPLES], interval_ns;
	size_t sample_count, site_count;
	uint64_t (*samples)[SAMPLES]; /* per site */
};

void growth_forget(struct site_table *t)
{
	if (t->kept)
		free(t->kept->samples);
	free(t->kept);
	t->kept = NULL;
}

static void put_aside(struct site_table *t)
{
	struct growth_kept *k = t->kept = xcalloc(1, sizeof *k);

	memcpy(k->times, t->times, sizeof k->times);
	memcpy(k->totals, t->totals, sizeof k->totals);
	k->interval_ns = t->interval_ns;
	k->sample_count = t->sample_count;
	k->site_count = t->count;
	k->samples = xcalloc(t->count, sizeof *k->samples);
	for (size_t i = 0; i < t->count; i++)
		memcpy(k->samples[i], t->sites[i]->samples, sizeof k->samples[i]);
	t->sample_count = 0;
}

/* Sites that came meanwhile held nothing then. */
static void take_up(struct site_table *t)
{
	const struct growth_kept *k = t->kept;

	memcpy(t->times, k->times, sizeof k->times);
	memcpy(t->totals, k->totals, sizeof k->totals);
	t->interval_ns = k->interval_ns;
	t->sample_count = k->sample_count;
	for (size_t i = 0; i < t->count; i++) {
		if (i < k->site_count)
			memcpy(t->sites[i]->samples, k->samples[i], sizeof k->samples[i]);
		else
			memset(t->sites[i]->samples, 0, sizeof k->samples[0]);
	}
	growth_forget(t);
}

void query_travel(struct query *q, bool away)
{
	struct site_table *t = q->sites;

	if (t)
		churn_forget(t); /* no time passes between two instants */
	if (t && away && !t->kept)
		put_aside(t);
	if (t && !away && t->kept)
		take_up(t);
}

/* --- marks */

/* The newest marks that intervals can lie between, oldest first. */
static size_t choose_marks(const struct query *q, uint32_t *marks)
{
	size_t count = 0;

	for (uint32_t id = 1; id < model_mark_limit(q->m); id++) {
		const struct mark *k = model_mark(q->m, id);
		if (!k || !k->known || (k->flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY)) || !k->live_known)
			continue;
		if (count && k->time_ns < model_mark(q->m, marks[count - 1])->time_ns + MARKS_APART_NS)
			continue;
		if (count == MARK_INTERVALS)
			memmove(marks, marks + 1, --count * sizeof *marks);
		marks[count++] = id;
	}
	return count;
}

/* Until it is known what sites held at them, growth is judged as before. */
static void take_marks(struct query *q, struct site_table *t)
{
	uint32_t marks[MARK_INTERVALS];
	size_t count = choose_marks(q, marks);

	if (count < 3)
		t->mark_count = 0;
	if (count < 3 || !sites_at_marks(q, t, &t->at_marks, marks, count))
		return;
	memcpy(t->marks, marks, count * sizeof *marks);
	t->mark_count = count;
}

/* --- intervals */

static void between_marks(const struct query *q, struct site_table *t)
{
	struct growth *g = &t->growth;
	size_t n = t->mark_count;

	g->by_marks = true;
	for (size_t k = 0; k < n; k++) {
		g->edge[k] = (uint32_t)k;
		g->at_ns[k] = model_mark(q->m, t->marks[k])->time_ns;
	}
	/* The one that runs is too short to be compared at first: it then belongs to the one
	 * before. */
	uint64_t now = model_time(q->m), mean = (g->at_ns[n - 1] - g->at_ns[0]) / (n - 1);
	if (n > 3 && now - g->at_ns[n - 1] < mean / 4)
		n--;
	g->count = n;
	g->at_ns[n] = now;
}

static void between_samples(const struct query *q, struct site_table *t)
{
	struct growth *g = &t->growth;
	size_t first = 0;
	uint64_t now = model_time(q->m);

	g->by_marks = false;
	while (first < t->sample_count && t->times[first] < START_UP_NS)
		first++;
	size_t steps = first < t->sample_count ? t->sample_count - 1 - first : 0;
	g->count = steps < SHAPE_INTERVALS ? steps : SHAPE_INTERVALS;
	for (size_t i = 0; i <= g->count && first < t->sample_count; i++) {
		g->edge[i] = (uint32_t)(first + (g->count ? i * steps / g->count : 0));
		g->at_ns[i] = t->times[g->edge[i]];
	}
	/* None yet: the first one that counts is the next. */
	uint64_t next = t->sample_count ? t->times[t->sample_count - 1] + t->interval_ns : now;
	uint64_t from = first < t->sample_count ? t->times[first]
			: next < START_UP_NS	? START_UP_NS
						: next;
	uint64_t ready = from + 3 * FIRST_INTERVAL_NS;
	g->needed_ns = ready > now ? ready - now : 0;
}

static uint64_t whole_at(const struct query *q, const struct site_table *t, size_t i)
{
	const struct growth *g = &t->growth;

	if (!g->by_marks)
		return t->totals[g->edge[i]];
	return i == g->count ? live_now(q)
			     : live_bytes(&model_mark(q->m, t->marks[g->edge[i]])->totals);
}

static uint64_t site_at(const struct site_table *t, const struct query_site *s, size_t i)
{
	const struct growth *g = &t->growth;

	if (!g->by_marks)
		return s->samples[g->edge[i]];
	return i == g->count ? live_bytes(&s->all.tally) : site_at_mark(s, &t->at_marks, g->edge[i]);
}

static void shape_site(const struct query *q, const struct site_table *t, struct query_site *s)
{
	const struct growth *g = &t->growth;
	int64_t net[MARK_INTERVALS], total = 0;

	for (size_t i = 0; i < g->count; i++) {
		net[i] = net_clamped((int64_t)(site_at(t, s, i + 1) - site_at(t, s, i)));
		total += net[i];
	}
	double minutes = g->count ? (double)(g->at_ns[g->count] - g->at_ns[0]) / 6e10 : 0;
	s->pub.shape = shape_of(net, g->ns, g->count, live_now(q), &s->pub.grew);
	s->pub.intervals = (uint32_t)g->count;
	s->pub.net_window = total;
	s->pub.net_per_min = minutes > 0 ? (int64_t)((double)total / minutes) : 0;
	s->samples[t->sample_count] = live_bytes(&s->all.tally);
	s->pub.trend = s->samples;
	s->pub.trend_count = (uint32_t)t->sample_count + 1;
}

void growth_update(struct query *q, struct site_table *t)
{
	struct growth *g = &t->growth;

	take_sample(q, t);
	take_marks(q, t);
	if (t->mark_count >= 3)
		between_marks(q, t);
	else
		between_samples(q, t);
	for (size_t i = 0; i < g->count; i++) {
		g->ns[i] = g->at_ns[i + 1] - g->at_ns[i];
		g->net[i] = net_clamped((int64_t)(whole_at(q, t, i + 1) - whole_at(q, t, i)));
	}
	g->since = g->count ? net_clamped((int64_t)(live_now(q) - whole_at(q, t, g->count))) : 0;
	for (size_t i = 0; i < t->count; i++)
		shape_site(q, t, t->sites[i]);
}

uint64_t query_window(const struct query *q)
{
	const struct site_table *t = q->sites;

	return t && t->growth.count ? t->growth.at_ns[t->growth.count] - t->growth.at_ns[0] : 0;
}
