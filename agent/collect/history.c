/* SPDX-License-Identifier: MIT
 *
 * history.c - totals and the largest owners since the start, thinned by doubling.
 *
 * The distance between points doubles whenever the table is full, and every second point is
 * dropped. So between HISTORY_POINTS / 2 and HISTORY_POINTS points cover the whole session, and a
 * late viewer still gets full graphs. A series follows one owner's live bytes. An owner gets a
 * place when it first holds something, and loses it to a larger one when places are short.
 */
#include "collect/history.h"
#include "collect/memory.h"
#include "collect/server.h"

#include <memtop/wire.h>

#define FIRST_INTERVAL_NS (250 * MILLI)

bool history_init(struct server *s)
{
	s->history = memory_map(sizeof(*s->history));
	if (s->history)
		s->history->interval_ns = FIRST_INTERVAL_NS;
	return s->history;
}

static void thin(struct history *h)
{
	for (uint32_t i = 0; 2 * i < h->points; i++)
		h->point[i] = h->point[2 * i];
	h->points = (h->points + 1) / 2;
	h->interval_ns *= 2;
}

static int find_series(const struct history *h, uint32_t module)
{
	for (uint32_t i = 0; i < h->series; i++)
		if (h->owner[i] == module)
			return (int)i;
	return -1;
}

/* A place for this module, or -1 when all are taken by larger ones. */
static int make_series(struct history *h, uint32_t module, uint64_t bytes)
{
	uint32_t at = h->series;

	if (at == HISTORY_SERIES) {
		at = 0;
		for (uint32_t i = 1; i < HISTORY_SERIES; i++)
			if (h->largest[i] < h->largest[at])
				at = i;
		if (h->largest[at] >= bytes)
			return -1;
		for (uint32_t p = 0; p < h->points; p++)
			h->point[p].series[at] = 0;
	} else {
		h->series++;
	}
	h->owner[at] = module;
	h->largest[at] = 0;
	return (int)at;
}

static void take_series(struct server *s, struct point *p)
{
	struct history *h = s->history;

	for (uint32_t m = 0; m < s->sums.modules_seen; m++) {
		uint64_t bytes = s->sums.module_live[m] > 0 ? (uint64_t)s->sums.module_live[m] : 0;
		int at = find_series(h, m);
		if (at < 0 && bytes)
			at = make_series(h, m, bytes);
		if (at < 0)
			continue;
		p->series[at] = bytes;
		if (bytes > h->largest[at])
			h->largest[at] = bytes;
	}
}

void history_point(struct server *s, uint64_t now, bool force)
{
	struct history *h = s->history;

	if (now < h->next_ns && !force)
		return;
	if (h->points == HISTORY_POINTS)
		thin(h);
	struct point *p = &h->point[h->points];
	memset(p, 0, sizeof(*p));
	take_series(s, p);
	p->time_ns = now;
	p->alloc_bytes = s->sums.totals.alloc_bytes;
	p->alloc_blocks = s->sums.totals.alloc_blocks;
	p->free_blocks = s->sums.totals.free_blocks;
	p->live_bytes = s->sums.totals.alloc_bytes - s->sums.totals.free_bytes;
	p->rss_bytes = s->figures.rss_bytes;
	h->points++;
	h->next_ns = now + h->interval_ns;
}

/* The n largest series by their largest value, ascending in module; returns how many. */
static uint32_t choose(const struct history *h, uint32_t n, uint32_t *series)
{
	bool taken[HISTORY_SERIES] = { false };
	uint32_t count = 0;

	for (; count < n && count < h->series; count++) {
		int best = -1;
		for (uint32_t i = 0; i < h->series; i++)
			if (!taken[i] && (best < 0 || h->largest[i] > h->largest[best]))
				best = (int)i;
		taken[best] = true;
		series[count] = (uint32_t)best;
	}
	return count;
}

static bool encode(const struct history *h, struct mtw_out *o, uint32_t owners)
{
	uint32_t series[HISTORY_SERIES];
	uint32_t n = choose(h, owners, series);

	mtw_put(o, h->interval_ns);
	mtw_put(o, n);
	for (uint32_t i = 0; i < n; i++)
		mtw_put(o, h->owner[series[i]]);
	mtw_put(o, h->points);
	for (uint32_t k = 0; k < h->points; k++) {
		const struct point *p = &h->point[k];
		mtw_put(o, p->time_ns);
		mtw_put(o, p->live_bytes);
		mtw_put(o, p->alloc_blocks - p->free_blocks);
		mtw_put(o, p->alloc_bytes);
		mtw_put(o, p->alloc_blocks);
		mtw_put(o, p->free_blocks);
		mtw_put(o, p->rss_bytes);
		for (uint32_t i = 0; i < n; i++)
			mtw_put(o, p->series[series[i]]);
	}
	return !o->full;
}

/* Fewer owners when all do not fit. 0 = not even the totals do. */
size_t history_encode(struct server *s, uint8_t *buf, size_t size)
{
	for (uint32_t owners = MTW_HISTORY_OWNERS_MAX;; owners /= 2) {
		struct mtw_out o = { buf, buf + size, false };
		if (encode(s->history, &o, owners))
			return (size_t)(o.at - buf);
		if (!owners)
			return 0;
	}
}
