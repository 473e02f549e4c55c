/* SPDX-License-Identifier: MIT
 *
 * restore.c - applies the frames that only key frames of a session have (model/dump.c).
 *
 * They come before the model's first state. At MTW_S_KEY all that came
 * takes effect together, as the state after a tick: without counting as allocated in that tick.
 */
#include "model/columns.h"
#include "model/model_state.h"

static void restore_instant(struct model *m, const struct instant *at)
{
	struct instants *x = &m->instants;

	if (x->count && (at->time_ns < x->list[x->count - 1].time_ns || x->count >= INSTANTS_MAX))
		return; /* of a damaged file: the list is by time */
	GROW(x->list, x->room, x->count + 1);
	x->list[x->count++] = *at;
}

static void restore_point(struct model *m, const struct event *e)
{
	struct series *s = &m->history.series;
	const struct point *p = &e->u.s_point.point;

	s->spacing_ns = e->u.s_point.spacing_ns;
	if (s->count < SERIES_MAX && (!s->count || p->time_ns > s->points[s->count - 1].time_ns))
		s->points[s->count++] = *p;
}

static int restore_rate(struct model *m, const struct event *e, struct err *err)
{
	struct rate_book *r = &m->rates;
	struct heap_event part = { .type = HEAP_PART }, rate = { .type = HEAP_RATE,
								 .id = e->u.s_window.slot,
								 .t = e->u.s_window.change };

	if (e->u.s_window.first && r->count < RATE_PARTS &&
	    rates_open(r, e->u.s_window.begin_ns, &e->u.s_window.before) &&
	    maker_put(m, &part, err))
		return -1;
	return e->u.s_window.slot ? maker_put(m, &rate, err) : 0;
}

static void restore_thread(struct model *m, const struct event *e)
{
	struct rate_part *p = rates_newest(&m->rates);
	const struct tally *then = &e->u.s_window_thread.then;
	uint32_t thread = e->u.s_window_thread.thread;

	if (p && e->u.s_window_thread.first && !p->threads)
		p->thread_count = threads_done(&m->threads, &p->threads);
	else if (p && thread < p->thread_count)
		p->threads[thread] =
			(struct rate){ then->alloc_bytes, then->alloc_blocks, then->free_bytes };
}

static int restore_key(struct model *m, const struct event *e, struct err *err)
{
	m->mid_tick = false;
	if (maker_put(m, &(struct heap_event){ .type = HEAP_TICK }, err))
		return -1;
	m->time_ns = e->u.s_key.time_ns;
	if (m->totals_pending)
		m->totals = m->totals_staged;
	m->totals_pending = false;
	m->complete = true;
	m->tick_complete = e->u.s_key.flags & MTW_TICK_COMPLETE;
	m->final = e->u.s_key.flags & MTW_TICK_FINAL;
	m->instants.ticks_read = e->u.s_key.ticks;
	for (int i = 0; i < MTW_KIND_COUNT; i++) {
		m->instants.looked_ns[i] = e->u.s_key.looked_ns[i];
		m->instants.answers[i] = e->u.s_key.answers[i];
	}
	m->ticks++;
	rates_show(&m->rates);
	interval_resume(m);
	return 0;
}

int restore_apply(struct model *m, const struct event *e, struct err *err)
{
	if (m->complete) /* what is shown never comes from two sources */
		return err_set(err, 3,
			       "stream: a key frame's data within a session; record it again");
	switch (e->type) {
	case MTW_S_INSTANTS: restore_instant(m, &e->u.s_instant); return 0;
	case MTW_S_POINTS: restore_point(m, e); return 0;
	case MTW_S_WINDOW: return restore_rate(m, e, err);
	case MTW_S_WINDOW_THREADS: restore_thread(m, e); return 0;
	default: return restore_key(m, e, err);
	}
}
