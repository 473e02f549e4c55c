/* SPDX-License-Identifier: MIT
 *
 * samples.c - how much of each slot was alive at some thirty instants of the last ten minutes: the
 * data that growth is judged by.
 *
 * The agent takes the samples, not a viewer: every viewer, whenever it connects, and every file
 * opened later judges by the same instants and reports the same findings. A sample is no mark:
 * epochs stay, and the program's threads do no work. A tick takes a sample in one walk over the
 * slots that changed since the last one.
 *
 * WHEN. Running time, without stops (collect/stops.c), is divided into strata of interval_ns with
 * one sample each, at a random place. Evenly spaced samples would meet a program that frees every
 * ten seconds in the same phase each time, and a period of 10.1 s would look like a slow leak. When
 * the table is full, the interval doubles and every second sample is dropped; at LAST_INTERVAL_NS
 * the oldest samples are dropped instead.
 *
 *     between SAMPLES / 2 and SAMPLES of them cover all that is judged, from 1.25 s apart to 20 s
 *
 * LOW of a sample is the lowest total of the whole heap since the last sample, FALL the largest
 * fall in that time, both measured at every tick. So a saw-tooth is recognised, and growth beneath
 * it is seen, however few the samples are. Single slots have neither: a block may move from one
 * slot to another, so the sum of their lows is no low of anything.
 *
 * MEMORY. At most half of mark_memory=. Beyond it the interval doubles early. If that does not
 * suffice, samples keep their totals only: growth is judged as before, but without its call site.
 */
#include "collect/samples.h"
#include "base/conf.h"
#include "collect/memory.h"
#include "collect/server.h"
#include "collect/stops.h"
#include "collect/viewer.h"

#include <memtop/wire.h>

#define FIRST_INTERVAL_NS (1250 * MILLI)
#define LAST_INTERVAL_NS (20 * SECOND)
#define AT_ONCE 4u /* go when the interval is the last */
#define LEAST 8u   /* are left by the memory's bound */

bool samples_init(struct server *s)
{
	s->samples = memory_map(sizeof(*s->samples));
	if (s->samples)
		s->samples->interval_ns = FIRST_INTERVAL_NS;
	return s->samples;
}

/* Some place in the stratum after now's: splitmix64 of its number, the same in every run. */
static uint64_t place_of_next(uint64_t now, uint64_t interval)
{
	uint64_t stratum = now / interval + 1, x = (stratum ^ interval) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return stratum * interval + (x ^ x >> 31) % interval;
}

/* The next one takes over what it was about. */
static void merge_into_next(struct samples *t, uint32_t i, bool first)
{
	struct sample *from = &t->sample[i], *to = &t->sample[i + 1];

	to->low_bytes = from->low_bytes < to->low_bytes ? from->low_bytes : to->low_bytes;
	to->fall_bytes = from->fall_bytes > to->fall_bytes ? from->fall_bytes : to->fall_bytes;
	t->totals_only |= !snapshot_merge(&from->kept, &to->kept, first, &t->bytes);
	snapshot_forget(&from->kept, &t->bytes);
	to->sent &= from->sent; /* a viewer that has both merges them itself */
}

static void thin(struct samples *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		bool goes = (t->count - i) % 2 == 0; /* the newest stays */
		if (goes)
			merge_into_next(t, i, !n);
		else
			t->sample[n++] = t->sample[i];
	}
	t->count = n;
	t->interval_ns *= 2;
}

static void drop_oldest(struct samples *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		merge_into_next(t, i, true);
	t->count -= n;
	memmove(t->sample, t->sample + n, t->count * sizeof(*t->sample));
}

static void make_room(struct samples *t)
{
	if (t->interval_ns < LAST_INTERVAL_NS)
		thin(t);
	else
		drop_oldest(t, AT_ONCE);
}

static void stay_within_memory(struct samples *t)
{
	while (t->bytes > mt_conf.mark_memory / 2 && t->count > LEAST)
		thin(t);
	if (t->bytes <= mt_conf.mark_memory / 2 && !t->totals_only)
		return;
	for (uint32_t i = 0; i < t->count; i++)
		snapshot_forget(&t->sample[i].kept, &t->bytes);
	t->totals_only = true;
}

static void take(struct server *s, uint64_t live)
{
	struct samples *t = s->samples;

	if (t->count == SAMPLES)
		make_room(t);
	uint32_t since = t->count ? t->sample[t->count - 1].kept.pass : 0;
	struct sample *p = &t->sample[t->count++];
	memset(p, 0, sizeof(*p));
	p->serial = ++t->serial;
	p->time_ns = s->sums.pass_ns;
	p->live_bytes = live;
	p->low_bytes = t->low_bytes;
	p->fall_bytes = t->fall_bytes;
	p->rss_bytes = s->figures.rss_bytes;
	t->low_bytes = t->peak_bytes = live;
	t->fall_bytes = 0;
	if (!t->totals_only &&
	    !snapshot_take(&s->sums, &p->kept, since, UINT64_MAX, NULL, NULL, &t->bytes))
		t->totals_only = true;
	stay_within_memory(t);
	t->next_ns = place_of_next(stops_running(&s->stops, s->sums.pass_ns), t->interval_ns);
	t->changed++;
}

void samples_tick(struct server *s)
{
	struct samples *t = s->samples;
	uint64_t live = s->sums.totals.alloc_bytes - s->sums.totals.free_bytes;

	t->low_bytes = live < t->low_bytes ? live : t->low_bytes;
	t->peak_bytes = live > t->peak_bytes ? live : t->peak_bytes;
	t->fall_bytes = t->peak_bytes - live > t->fall_bytes ? t->peak_bytes - live : t->fall_bytes;
	if (stops_running(&s->stops, s->sums.pass_ns) >= t->next_ns && !s->over)
		take(s, live);
}

void samples_newcomer(struct server *s, const struct viewer *v)
{
	for (uint32_t i = 0; i < s->samples->count; i++)
		s->samples->sample[i].sent &= ~(1u << v->index);
}

void samples_list(const struct server *s, struct mtw_out *o)
{
	const struct samples *t = s->samples;
	uint64_t before = 0;

	mtw_put(o, t->totals_only ? MTW_SAMPLES_TOTALS_ONLY : 0);
	mtw_put(o, t->count);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct sample *p = &t->sample[i];
		mtw_put(o, p->serial - before);
		mtw_put(o, p->time_ns);
		mtw_put(o, p->live_bytes);
		mtw_put(o, p->low_bytes);
		mtw_put(o, p->fall_bytes);
		mtw_put(o, p->rss_bytes);
		before = p->serial;
	}
}

bool samples_send(struct server *s, struct viewer *v)
{
	struct samples *t = s->samples;

	if (v->samples_sent != 1 + t->changed)
		return false; /* the list goes first */
	for (uint32_t i = 0; i < t->count; i++) {
		struct sample *p = &t->sample[i];
		if (!p->kept.live || p->sent & 1u << v->index)
			continue;
		if (!snapshot_send(s, v, MTW_SAMPLE_LIVE, p->serial, &p->kept, &v->sample_at))
			return false;
		p->sent |= 1u << v->index;
	}
	return true;
}
