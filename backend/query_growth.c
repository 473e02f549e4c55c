/* SPDX-License-Identifier: MIT
 *
 * query_growth.c - how call sites grew: samples over time, live at marks, and their shape.
 *
 * Intervals are those between the user's marks when there are three or more, the last one still
 * running; else between our own samples, taken every five seconds at first and thinned by doubling,
 * joined to at most six. What came before the first of them does not count: a program that starts
 * up grows.
 */
#include "query_sites.h"

#include <string.h>

#define FIRST_INTERVAL_NS (5ull * 1000 * 1000 * 1000)

static uint64_t site_live(const struct query_site *s)
{
	return live_bytes(&s->sum.tally);
}

static void take_sample(struct query *q, struct site_table *t)
{
	uint64_t now = model_time(q->m);

	if (!t->interval_ns || !t->sample_count)
		t->interval_ns = FIRST_INTERVAL_NS;
	if (t->sample_count && now < t->times[t->sample_count - 1] + t->interval_ns)
		return;
	if (t->sample_count == SAMPLES) {
		for (size_t k = 0; k < SAMPLES / 2; k++) {
			t->times[k] = t->times[2 * k + 1];
			for (size_t i = 0; i < t->count; i++)
				t->sites[i]->samples[k] = t->sites[i]->samples[2 * k + 1];
		}
		t->sample_count = SAMPLES / 2;
		t->interval_ns *= 2;
	}
	t->times[t->sample_count] = now;
	for (size_t i = 0; i < t->count; i++)
		t->sites[i]->samples[t->sample_count] = site_live(t->sites[i]);
	t->sample_count++;
}

struct at_mark { struct query *q; size_t mark; };

static void undo(void *arg, uint32_t slot, const struct change *c)
{
	const struct at_mark *a = arg;
	const struct node *n = model_node(a->q->m, model_slot(a->q->m, slot)->node);
	uint32_t number = n ? sites_of_index(a->q, n->index) : 0;

	if (number)
		a->q->sites->sites[number - 1]->mark_live[a->mark] -= (int64_t)(c->born_bytes - c->gone_bytes);
}

/* live at a mark = live now - net since. */
static void take_marks(struct query *q, struct site_table *t)
{
	uint64_t generation = model_marks_generation(q->m) + t->version * 1000003;

	if (generation == t->marks_generation)
		return;
	t->marks_generation = generation;
	t->mark_count = 0;
	for (uint32_t id = 1; id < model_mark_limit(q->m); id++) {
		const struct mark *k = model_mark(q->m, id);
		if (!k || !k->known || (k->flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY)) || !k->live_known)
			continue;
		GROW(t->marks, t->mark_room, t->mark_count + 1);
		t->marks[t->mark_count++] = id;
	}
	if (t->mark_count < 3)
		return;
	for (size_t k = 0; k < t->mark_count; k++) {
		for (size_t i = 0; i < t->count; i++) {
			struct query_site *s = t->sites[i];
			GROW(s->mark_live, s->mark_room, t->mark_count);
			s->mark_live[k] = (int64_t)site_live(s);
		}
		struct at_mark a = { q, k };
		model_between(q->m, t->marks[k], 0, undo, &a);
	}
}

/* Net of each of the joined intervals between samples; the last ends now. Returns how many. */
static size_t sample_nets(const struct site_table *t, const struct query_site *s, int64_t *net, uint64_t *from_ns)
{
	size_t steps = t->sample_count < 2 ? 0 : t->sample_count - 1; /* from sample 1 to now */
	size_t n = steps < SHAPE_INTERVALS ? steps : SHAPE_INTERVALS;

	for (size_t i = 0; i < n; i++) {
		size_t a = 1 + i * steps / n, b = 1 + (i + 1) * steps / n;
		uint64_t end = b == t->sample_count ? site_live(s) : s->samples[b];
		net[i] = (int64_t)(end - s->samples[a]);
	}
	*from_ns = n ? t->times[1] : 0;
	return n;
}

static size_t mark_nets(const struct query *q, const struct site_table *t, const struct query_site *s, int64_t *net,
			size_t max, uint64_t *from_ns)
{
	size_t first = t->mark_count > max ? t->mark_count - max : 0, n = 0;

	for (size_t k = first; k < t->mark_count; k++) {
		int64_t end = k + 1 < t->mark_count ? s->mark_live[k + 1] : (int64_t)site_live(s);
		net[n++] = end - s->mark_live[k];
	}
	*from_ns = model_mark(q->m, t->marks[first])->time_ns;
	return n;
}

static void shape_site(const struct query *q, const struct site_table *t, struct query_site *s)
{
	int64_t net[32], total = 0;
	uint64_t from_ns;
	bool by_marks = t->mark_count >= 3 && s->mark_room >= t->mark_count;
	size_t n = by_marks ? mark_nets(q, t, s, net, 32, &from_ns) : sample_nets(t, s, net, &from_ns);

	for (size_t i = 0; i < n; i++)
		total += net[i];
	double minutes = (double)(model_time(q->m) - from_ns) / 6e10;
	s->pub.shape = shape_of(net, n, live_bytes(&model_totals(q->m)->sum), &s->pub.grew);
	s->pub.intervals = (uint32_t)n;
	s->pub.net_window = total;
	s->pub.net_per_min = n && minutes > 0 ? (int64_t)((double)total / minutes) : 0;
	s->samples[t->sample_count] = site_live(s);
	s->pub.trend = s->samples;
	s->pub.trend_count = (uint32_t)t->sample_count + 1;
}

void growth_update(struct query *q, struct site_table *t)
{
	take_sample(q, t);
	take_marks(q, t);
	for (size_t i = 0; i < t->count; i++)
		shape_site(q, t, t->sites[i]);
}
