/* SPDX-License-Identifier: MIT
 *
 * tick.c - applies a tick: counters, totals, time and flags become current, all together. The
 * counters are the columns' (heap/take.c), which hear of the tick in its place among the events.
 */
#include "model/tick.h"

#include "model/columns.h"
#include "model/model_state.h"

void tick_remember(struct model *m, uint64_t time_ns, const struct totals *totals)
{
	const struct tally *sum = &totals->sum;
	struct point p = {
		time_ns,           live_bytes(sum),  live_blocks(sum), sum->alloc_bytes,
		sum->alloc_blocks, sum->free_blocks, m->figures.rss,
	};

	series_tick(&m->history.series, &p);
}

/* Makes the data since the second greeting current; not whole: the program ended meanwhile. */
static void be_resumed(struct model *m, bool whole)
{
	m->resuming = false;
	m->complete = whole;
	marks_arrive(&m->marks);
}

int tick_counters(struct model *m, uint64_t before_ns, uint64_t now_ns, const struct tally *before,
		  bool rated, struct err *err)
{
	uint64_t was = stops_running(&m->stops, before_ns);
	size_t due =
		rates_due(&m->rates, was, rated ? stops_running(&m->stops, now_ns) : UINT64_MAX);
	struct rate_part *fresh;

	while (due--) {
		rates_drop(&m->rates);
		if (maker_put(m, &(struct heap_event){ .type = HEAP_PART_ENDS }, err))
			return -1;
	}
	if (rated && (fresh = rates_open(&m->rates, was, before))) {
		fresh->thread_count = threads_done(&m->threads, &fresh->threads);
		if (maker_put(m, &(struct heap_event){ .type = HEAP_PART }, err))
			return -1;
	}
	m->mid_tick = false;
	if (maker_put(m, &(struct heap_event){ .type = HEAP_TICK, .on = rated }, err))
		return -1;
	return maker_take(m, err); /* it may be the last: what was inherited is as of it */
}

void tick_accept(struct model *m, uint64_t time_ns, uint32_t flags, const struct totals *totals,
		 bool remember)
{
	m->time_ns = time_ns;
	if (m->resuming)
		series_join(&m->history.series, &m->history.coming);
	if (totals && remember)
		tick_remember(m, time_ns, totals);
	if (totals)
		m->totals = *totals;
	m->ticks++;
	if (m->resuming)
		be_resumed(m, flags & MTW_TICK_COMPLETE);
	m->tick_complete = flags & MTW_TICK_COMPLETE;
	m->complete |= m->tick_complete;
	if (flags & MTW_TICK_FINAL)
		m->final = true;
	rates_show(&m->rates);
}

int tick_apply(struct model *m, uint64_t time_ns, uint32_t flags, struct err *err)
{
	uint64_t before = m->time_ns, now = time_ns > before ? time_ns : before;
	bool rated = m->complete && !m->resuming, has_totals = m->totals_pending;

	if (tick_counters(m, before, now, &m->totals.sum, rated, err))
		return -1;
	m->totals_pending = false;
	tick_accept(m, now, flags, has_totals ? &m->totals_staged : NULL, true);
	interval_resume(m);
	return 0;
}

void tick_clear(struct model *m)
{
	m->tick.bulk.ticks = 0;
	rates_clear(&m->rates);
	m->totals_pending = false;
}
