/* SPDX-License-Identifier: MIT
 *
 * tick.c - applies a tick: counters, totals, time and flags become current, all together. The
 * counters are the columns' (heap/take.c), which hear of the tick in its place among the events.
 */
#include "model/tick.h"

#include "model/columns.h"
#include "model/model_state.h"

/* Adds a point to the history. What was never there at one time is none: after the end, All's live
 * amount is what each process held at its own (processes/all.h). */
static void remember(struct model *m, uint64_t time_ns, const struct totals *totals)
{
	const struct tally *sum = &totals->sum;
	struct point p = {
		time_ns,           live_bytes(sum),  live_blocks(sum), sum->alloc_bytes,
		sum->alloc_blocks, sum->free_blocks, m->figures.rss,
	};

	if (totals->peak_bytes && p.live_bytes > totals->peak_bytes + totals->peak_error_bytes)
		return;
	series_tick(&m->history.series, &p);
}

/* Makes the data since the second greeting current; not whole: the program ended meanwhile. */
static void be_resumed(struct model *m, bool whole)
{
	m->resuming = false;
	m->complete = whole;
	marks_arrive(&m->marks);
}

/* Its counters, after the tick at before_ns. rated: what they grew by counts for the rates. */
static int take_counters(struct model *m, uint64_t before_ns, uint64_t now_ns, bool rated,
			 struct err *err)
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
	if (rated && (fresh = rates_open(&m->rates, was, &m->totals.sum))) {
		fresh->thread_count = threads_done(&m->threads, &fresh->threads);
		if (maker_put(m, &(struct heap_event){ .type = HEAP_PART }, err))
			return -1;
	}
	m->mid_tick = false;
	if (maker_put(m, &(struct heap_event){ .type = HEAP_TICK, .on = rated }, err))
		return -1;
	return maker_take(m, err); /* it may be the last: what was inherited is as of it */
}

int tick_apply(struct model *m, uint64_t time_ns, uint32_t flags, struct err *err)
{
	uint64_t before = m->time_ns, now = time_ns > before ? time_ns : before;

	if (take_counters(m, before, now, m->complete && !m->resuming, err))
		return -1;
	if (flags & MTW_TICK_FINAL && model_catch_up(m, err)) /* no event comes to tell it */
		return -1;
	m->time_ns = now;
	if (m->resuming)
		series_join(&m->history.series, &m->history.coming);
	if (m->totals_pending) {
		remember(m, now, &m->totals_staged);
		m->totals = m->totals_staged;
	}
	m->totals_pending = false;
	m->ticks++;
	if (m->resuming)
		be_resumed(m, flags & MTW_TICK_COMPLETE);
	m->tick_complete = flags & MTW_TICK_COMPLETE;
	m->complete |= m->tick_complete;
	if (flags & MTW_TICK_FINAL)
		m->final = true;
	rates_show(&m->rates);
	interval_resume(m);
	return 0;
}

void tick_clear(struct model *m)
{
	rates_clear(&m->rates);
	m->totals_pending = false;
}
