/* SPDX-License-Identifier: MIT
 *
 * apply.c - applies an event to the model.
 *
 * Modules, nodes, slots, threads and marks are entered at once: they hold no values yet, so every
 * sum stays true. Counters and totals wait for the tick (model/tick.c). All claims of an event are
 * checked before anything is written.
 */
#include "model/columns.h"
#include "model/model_state.h"

#include <stdlib.h>

/*
 * The same process again: ids keep their meaning and counters only grow, so frames bring newer
 * values. A complete state stays visible until the new one is complete: counters and totals stay
 * staged until then.
 */
static void resume(struct model *m)
{
	program_free(&m->program);
	m->resuming = m->complete;
	m->final = m->totals_pending = false;
	m->totals_staged = (struct totals){ 0 };
	series_clear(&m->history.coming);
	if (m->state == MTW_LINK_LOST || m->state == MTW_CUT || m->state == MTW_DETACHED)
		m->state = MTW_RUNNING;
}

static int apply_hello(struct model *m, const struct event *e, struct err *err)
{
	struct heap_event epoch = { .type = HEAP_EPOCH, .number = e->u.hello.first_epoch };
	bool same = m->hello && program_same(&m->program, e);

	/* A second greeting: the link was renewed, or another program took over. */
	if (same) {
		resume(m);
	} else if (m->hello) {
		model_clear(m);
		m->interval.base_wanted = m->interval.until_wanted = 0;
	}
	program_take(&m->program, e);
	m->hello = true;
	return maker_put(m, &epoch, err); /* an older memtop's key frame had none */
}

static int apply_node(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.node.id, module = e->u.node.module;

	if (module != NO_ID && !modules_know(&m->modules, module))
		return err_set(
			err, 3,
			"stream: node %u lies in module %u, which was never named; connect again",
			id, module);
	uint32_t location = locations_enter(&m->locations, &m->quota, module, e->u.node.offset,
					    e->u.node.kind & 15, err);
	m->arrivals++;
	return location == NO_ID ? -1
				 : maker_put(m,
					     &(struct heap_event){ .type = HEAP_NODE,
								   .id = id,
								   .of = e->u.node.parent,
								   .number = location },
					     err);
}

static int apply_slot(struct model *m, const struct event *e, struct err *err)
{
	if (e->u.slot.epoch > UINT32_MAX)
		return err_set(
			err, 3,
			"stream: slot %u is of epoch %llu, which is out of range; connect again",
			e->u.slot.id, (unsigned long long)e->u.slot.epoch);
	m->arrivals++;
	return maker_put(m,
			 &(struct heap_event){ .type = HEAP_SLOT,
					       .id = e->u.slot.id,
					       .of = e->u.slot.node,
					       .number = e->u.slot.epoch },
			 err);
}

static int apply_counts(struct model *m, const struct event *e, struct err *err)
{
	m->mid_tick = true;
	return maker_put(m,
			 &(struct heap_event){ .type = HEAP_COUNTS,
					       .id = e->u.counts.slot,
					       .t = e->u.counts.now },
			 err);
}

static int apply_weighed(struct model *m, const struct event *e, struct err *err)
{
	m->mid_tick = true;
	return maker_put(m,
			 &(struct heap_event){ .type = HEAP_WEIGHED,
					       .id = e->u.weighed.slot,
					       .on = e->u.weighed.sample != 0 },
			 err);
}

static int apply_proven(struct model *m, const struct event *e, struct err *err)
{
	return maker_put(m, &(struct heap_event){ .type = HEAP_PROVEN, .id = e->u.proven.node },
			 err);
}

/* A cell names a slot, of which the columns know. */
static int check_cell(struct model *m, const struct event *e, struct err *err)
{
	return maker_put(m,
			 &(struct heap_event){ .type = HEAP_CELL,
					       .id = e->u.mark_live.slot,
					       .number = e->u.mark_live.mark,
					       .on = e->type == MTW_SAMPLE_LIVE },
			 err);
}

static int put_peak(struct model *m, uint8_t type, const struct event *e, struct err *err)
{
	return maker_put(m,
			 &(struct heap_event){ .type = type,
					       .id = e->u.peak.slot,
					       .t = type == HEAP_PEAK_WHOLE ? e->u.peak.sum
									    : e->u.peak.then },
			 err);
}

static int apply_peak(struct model *m, const struct event *e, struct err *err)
{
	struct peak_said *x = &m->peak;
	uint32_t flags = e->u.peak.flags;

	if (flags & MTW_PART_FIRST) {
		x->serial = e->u.peak.serial;
		x->coming = true;
		if (put_peak(m, HEAP_PEAK, e, err))
			return -1;
	}
	if (e->u.peak.serial != x->serial) /* its first part was not seen */
		return 0;
	if (e->u.peak.slot && put_peak(m, HEAP_PEAK_CELL, e, err))
		return -1;
	if (!(flags & MTW_PART_LAST))
		return 0;
	x->coming = false;
	if (put_peak(m, HEAP_PEAK_WHOLE, e, err))
		return -1;
	x->whole = true;
	x->at = (struct peak_instant){ e->u.peak.time_ns, e->u.peak.sum };
	return 0;
}

static int apply_totals(struct model *m, const struct event *e, struct err *err)
{
	const struct tally *t = &e->u.totals.sum;

	if (t->free_blocks > t->alloc_blocks || t->free_bytes > t->alloc_bytes)
		return err_set(err, 3,
			       "stream: the totals freed more than was allocated; connect again");
	m->totals_staged = e->u.totals;
	m->totals_pending = true;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Those of marks and of the peak stay. */
static void thin_instants(struct model *m)
{
	uint64_t pins[MTW_MARKS_MAX + 3];
	size_t n = 0;

	pins[n++] = m->totals.peak_time_ns;
	pins[n++] = m->totals_staged.peak_time_ns;
	pins[n++] = m->peak.at.time_ns;
	for (size_t id = 1; id < m->marks.limit; id++)
		if (m->marks.list[id].known)
			pins[n++] = m->marks.list[id].time_ns;
	qsort(pins, n, sizeof *pins, by_time);
	instants_thin(&m->instants, pins, n);
}

static int apply_tick(struct model *m, const struct event *e, struct err *err)
{
	if (e->u.tick.time_ns < m->time_ns)
		return err_set(err, 3, "stream: time goes back; connect again");
	if (instants_full(&m->instants))
		thin_instants(m);
	instants_tick(&m->instants, e->u.tick.time_ns, e->u.tick.flags);
	if (m->resuming && !(e->u.tick.flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return 0; /* what is shown stays until the new state is complete */
	return tick_apply(m, e->u.tick.time_ns, e->u.tick.flags, err);
}

static void apply_notice(struct model *m, const struct event *e)
{
	const char *text = notices_take(&m->notices, e);

	if (m->on_notice)
		m->on_notice(m->notice_arg, text);
}

static void apply_history(struct model *m, const struct event *e)
{
	struct series *s = m->resuming ? &m->history.coming : &m->history.series;

	if (e->u.history.first)
		series_start(s, e->u.history.owners, e->u.history.owner_count);
	series_agent(s, &e->u.history.point, e->u.history.owner_bytes);
}

static int apply_mark(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.mark.id;

	if (marks_check(&m->marks, e, err))
		return -1;
	if (!marks_known(&m->marks, id))
		interval_unsettle(m, id);
	if (marks_enter(&m->marks, &m->quota, e, m->resuming))
		interval_without(m, id);
	return 0;
}

static int apply_mark_cell(struct model *m, const struct event *e, struct err *err)
{
	bool anew;
	int rc = marks_cell(&m->marks, &m->quota, e, m->resuming, &anew, err);

	if (anew)
		interval_unsettle(m, e->u.mark_live.mark);
	return rc > 0 ? check_cell(m, e, err) : rc;
}

static int apply_sample_cell(struct model *m, const struct event *e, struct err *err)
{
	int rc = samples_cell(&m->samples, &m->quota, e, m->resuming, err);

	return rc > 0 ? check_cell(m, e, err) : rc;
}

static int apply_scan_thread(struct model *m, const struct event *e, struct err *err)
{
	if (threads_scanned(&m->threads, e, err))
		return -1;
	instants_looked(&m->instants, MTW_KIND_THREADS, 0, m->time_ns);
	return 0;
}

static void apply_rss(struct model *m, const struct event *e)
{
	if (rss_apply(&m->rss, &m->marks, e))
		instants_looked(&m->instants, MTW_KIND_MEMORY, e->u.rss.time_ns, m->time_ns);
	else
		m->instants.answers[MTW_KIND_MEMORY]++;
}

static int apply_cohorts(struct model *m, const struct event *e, struct err *err)
{
	int rc = cohorts_apply(&m->cohorts, e, err);

	if (rc > 0)
		instants_looked(&m->instants, MTW_KIND_COHORTS, e->u.cohorts.time_ns, m->time_ns);
	return rc < 0 ? -1 : 0;
}

/* Those of which the columns hear: many of them come together. */
static bool is_of_paths(uint32_t type)
{
	return type == MTW_NODES || type == MTW_SLOTS || type == MTW_COUNTS ||
	       type == MTW_WEIGHED || type == MTW_PROVEN || type == MTW_MARK_LIVE ||
	       type == MTW_SAMPLE_LIVE || type == MTW_PEAK;
}

int model_apply(struct model *m, const struct event *e, struct err *err)
{
	model_mine(m);
	if (!is_of_paths(e->type) && maker_take(m, err))
		return -1;
	switch (e->type) {
	case MTW_HELLO: return apply_hello(m, e, err);
	case MTW_TOTALS: return apply_totals(m, e, err);
	case MTW_TICK: return apply_tick(m, e, err);
	case MTW_STATE:
		model_set_state(m, e->u.state.state, (int)e->u.state.status, e->u.state.known);
		return 0;
	case MTW_MODULE:
		return modules_apply(&m->modules, e, m->hello ? m->program.name : NULL, err);
	case MTW_NODES: return apply_node(m, e, err);
	case MTW_SLOTS: return apply_slot(m, e, err);
	case MTW_COUNTS: return apply_counts(m, e, err);
	case MTW_THREAD: return threads_apply(&m->threads, e, err);
	case MTW_PROCESS: figures_process(&m->figures, e); return 0;
	case MTW_MARK: return apply_mark(m, e, err);
	case MTW_MARK_LIVE: return apply_mark_cell(m, e, err);
	case MTW_SAMPLES: return samples_apply(&m->samples, &m->quota, e, err);
	case MTW_SAMPLE_LIVE: return apply_sample_cell(m, e, err);
	case MTW_STOPS: m->stops = e->u.stops; return 0;
	case MTW_PEAK: return apply_peak(m, e, err);
	case MTW_HISTORY: apply_history(m, e); return 0;
	case MTW_LOSS: return figures_loss(&m->figures, e, err);
	case MTW_STACKS: m->figures.effort = e->u.effort; return 0;
	case MTW_MEMORY: figures_memory(&m->figures, e); return 0;
	case MTW_OPTION: return options_apply(&m->options, e, err);
	case MTW_FILTER: return filters_apply(&m->filters, e, err);
	case MTW_WEIGHED: return apply_weighed(m, e, err);
	case MTW_PROVEN: return apply_proven(m, e, err);
	case MTW_NOTICE: apply_notice(m, e); return 0;
	case MTW_SCAN_THREADS: return apply_scan_thread(m, e, err);
	case MTW_SCAN_AGES: scanned_ages_apply(&m->ages, e); return 0;
	case MTW_SCAN_MEMORY: apply_rss(m, e); return 0;
	case MTW_SCAN_COHORTS: return apply_cohorts(m, e, err);
	case MTW_S_INSTANTS:
	case MTW_S_POINTS:
	case MTW_S_WINDOW:
	case MTW_S_WINDOW_THREADS:
	case MTW_S_KEY: return restore_apply(m, e, err);
	case MTW_S_OMITTED: m->instants.ticks_read += e->u.s_omitted.ticks; return 0;
	case MTW_S_EXIT:
		model_set_state(m, e->u.s_exit.state, (int)e->u.s_exit.status, true);
		return 0;
	default: /* for others: ERROR is the connection's, S_SYMBOL and S_GENERATED the symbols' */
		return 0;
	}
}
