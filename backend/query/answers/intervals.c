/* SPDX-License-Identifier: MIT
 *
 * intervals.c - net amounts of the changed call sites for each interval between successive marks:
 * the difference between the interval's ends.
 */
#include "query/sites/sites.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_PARTS 10 /* no sample meets the very top */

/* Of a site. Modulo 2^64: a hostile peer's values may be anything. False: it did not change. */
static bool take_nets(const struct site_table *t, const struct query_site *s, int64_t *net,
		      size_t count)
{
	bool changed = false;

	for (size_t k = 0; k < count; k++) {
		uint64_t to = k + 1 < t->at_ends.count ? site_at_mark(s, &t->at_ends, k + 1)
						       : live_bytes(&s->all.sum);
		net[k] = net_clamped((int64_t)(to - site_at_mark(s, &t->at_ends, k)));
		changed |= net[k] != 0;
	}
	return changed;
}

static int64_t total(const struct interval_row *r)
{
	int64_t sum = 0;

	for (size_t i = 0; i < r->count; i++)
		sum += r->net[i];
	return sum;
}

static int grew_first(const void *a, const void *b)
{
	const struct interval_row *x = a, *y = b;
	int64_t tx = total(x), ty = total(y);

	return tx < ty ? 1 : tx > ty ? -1 : site_first(&x->site, &y->site) ? -1 : 1;
}

/* Marks may meet a saw-tooth in any phase, each time in the same one. Amounts that samples saw
 * before the last interval were there before: growth that stays below them is none. */
static struct swing swing_of(const struct site_table *t, const struct query_site *s,
			     uint64_t from_ns, uint64_t last_ns)
{
	const uint64_t *at = s->pub.trend;
	uint64_t was = site_at_mark(s, &t->at_ends, 0), high = was;

	for (size_t i = 0; t->by_slot && i < t->sample_count; i++)
		if (t->samples[i].time_ns >= from_ns && t->samples[i].time_ns < last_ns &&
		    at[i] > high)
			high = at[i];
	return (struct swing){ .noise = (high - was) / SEEN_PARTS * (SEEN_PARTS - 1) };
}

static uint64_t time_of(const struct query *q, uint32_t mark, uint64_t otherwise)
{
	return mark ? model_mark(q->m, mark)->time_ns : otherwise;
}

static bool is_end(const struct query *q, uint32_t id)
{
	const struct mark *k = model_mark(q->m, id);

	return k && k->known && k->live_known &&
	       !(k->flags & (MTW_MARK_DROPPED | MTW_MARK_TOTALS_ONLY));
}

/* `from`, the marks after it, and `to`; of more marks than INTERVALS_MAX allows, the newest.
 * Returns the number of intervals. */
static size_t ends_of(const struct query *q, uint32_t from, uint32_t to, uint32_t *ends)
{
	uint32_t last = to ? to : model_mark_limit(q->m);
	size_t count = INTERVALS_MAX;

	ends[count] = to;
	for (uint32_t id = last; --id > from && count > 1;)
		if (is_end(q, id))
			ends[--count] = id;
	ends[--count] = from;
	memmove(ends, ends + count, (INTERVALS_MAX + 1 - count) * sizeof *ends);
	return INTERVALS_MAX - count;
}

/* Of the sites that changed, without their shapes. */
static void take_rows(const struct site_table *t, size_t count, struct intervals_kept *to)
{
	for (size_t i = 0; i < t->count; i++) {
		GROW(to->list, to->room, to->count + 1);
		GROW(to->nets, to->net_room, (to->count + 1) * count);
		if (!t->sites[i]->pub.stacks ||
		    !take_nets(t, t->sites[i], to->nets + to->count * count, count))
			continue;
		to->list[to->count++] = (struct interval_row){ t->sites[i]->pub, NULL, count };
	}
	for (size_t i = 0; i < to->count; i++)
		to->list[i].net = to->nets + i * count;
}

size_t query_intervals(struct query *q, uint32_t from, uint32_t to, struct intervals_kept *rows)
{
	struct site_table *t = sites_update(q);
	uint32_t ends[INTERVALS_MAX + 1];
	uint64_t ns[INTERVALS_MAX];

	rows->count = 0;
	size_t count = ends_of(q, from, to, ends);
	if (!model_mark_says(q->m, from) || !model_mark_says(q->m, to))
		return 0;
	sites_at_marks(q, t, &t->at_ends, ends, to ? count + 1 : count);
	for (size_t i = 0; i < count; i++)
		ns[i] = model_running(q->m, time_of(q, ends[i + 1], model_time(q->m))) -
			model_running(q->m, time_of(q, ends[i], 0));
	take_rows(t, count, rows);
	for (size_t i = 0; i < rows->count; i++) {
		struct interval_row *r = &rows->list[i];
		struct swing w = swing_of(t, t->sites[r->site.id - 1], time_of(q, from, 0),
					  time_of(q, ends[count - 1], 0));
		r->site.shape = shape_of(r->net, ns, count, live_bytes(&model_totals(q->m)->sum),
					 &w, &r->site.grew);
		r->site.intervals = (uint32_t)count;
	}
	if (rows->count)
		qsort(rows->list, rows->count, sizeof *rows->list, grew_first);
	site_figures_share(&rows->figures, t->at_samples.figures);
	return rows->count;
}

void intervals_kept_release(struct intervals_kept *k)
{
	free(k->list);
	free(k->nets);
	site_figures_drop(k->figures);
	*k = (struct intervals_kept){ 0 };
}
