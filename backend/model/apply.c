/* SPDX-License-Identifier: MIT
 *
 * apply.c - applies an event to the model.
 *
 * Modules, nodes, slots, threads and marks are entered at once: they hold no values yet, so every
 * sum stays true. Counters and totals wait for the tick (model/tick.c). All claims of an event are
 * checked before anything is written.
 */
#include "model/bulk.h"
#include "model/internal.h"
#include "model/restore.h"

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
	bool same = m->hello && program_same(&m->program, e);

	if (m->tick.bulk.merge && model_bulk_end(m, err)) /* so many ticks were of the old link */
		return -1;
	/* A second greeting: the link was renewed, or another program took over. */
	if (same) {
		resume(m);
	} else if (m->hello) {
		model_clear(m);
		m->interval.base_wanted = m->interval.until_wanted = 0;
	}
	program_take(&m->program, e);
	tick_sum_inherited(m);
	m->hello = true;
	return 0;
}

static int apply_node(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.node.id, module = e->u.node.module;
	struct node *parent = node_by_id(&m->trie, e->u.node.parent);

	if (id == 0 || id >= MTW_NODES_MAX || !parent)
		return err_set(
			err, 3,
			"stream: node %u has the parent %u, which was never named; connect again",
			id, e->u.node.parent);
	if (module != NO_ID && !modules_know(&m->modules, module))
		return err_set(
			err, 3,
			"stream: node %u lies in module %u, which was never named; connect again",
			id, module);
	struct node *n = node_by_id(&m->trie, id);
	uint8_t kind = e->u.node.kind & 15;
	if (n) {
		if (n->parent == parent->index &&
		    n->location == locations_find(&m->locations, module, e->u.node.offset, kind))
			return 0;
		return err_set(err, 3,
			       "stream: node %u was named twice, differently; connect again", id);
	}
	if (parent->depth == NODE_DEPTH_MAX)
		return err_set(err, 3, "stream: node %u lies below %u others; connect again", id,
			       parent->depth);
	uint32_t location =
		locations_enter(&m->locations, &m->quota, module, e->u.node.offset, kind, err);
	if (location == NO_ID || quota_take(&m->quota, sizeof *n, err))
		return -1;
	n = trie_new_node(&m->trie, &m->quota, id);
	n->depth = (parent->depth + 1u) & 0xffffffu;
	n->parent = parent->index;
	n->next_sibling = parent->first_child;
	parent->first_child = n->index;
	n->location = location;
	if (kind == MTW_NODE_TRUNCATED)
		trie_truncated(&m->trie, id);
	return 0;
}

static int apply_slot(struct model *m, const struct event *e, struct err *err)
{
	uint32_t id = e->u.slot.id;
	struct node *node = node_by_id(&m->trie, e->u.slot.node);
	struct slot *s = slot_by_id(&m->trie, id);

	if (id == 0 || id >= MTW_SLOTS_MAX || !node)
		return err_set(
			err, 3,
			"stream: slot %u belongs to node %u, which was never named; connect again",
			id, e->u.slot.node);
	if (s) {
		if (s->node == node->index && s->epoch == e->u.slot.epoch)
			return 0;
		return err_set(err, 3,
			       "stream: slot %u was named twice, differently; connect again", id);
	}
	if (e->u.slot.epoch > UINT32_MAX)
		return err_set(
			err, 3,
			"stream: slot %u is of epoch %llu, which is out of range; connect again",
			id, (unsigned long long)e->u.slot.epoch);
	if (quota_take(&m->quota, sizeof *s, err))
		return -1;
	s = trie_new_slot(&m->trie, &m->quota, id);
	s->node = node->index;
	s->epoch = (uint32_t)e->u.slot.epoch;
	s->next_of_node = node->first_slot;
	node->first_slot = m->trie.slot_count - 1;
	return 0;
}

static int apply_weighed(struct model *m, const struct event *e, struct err *err)
{
	uint32_t index = idmap_get(&m->trie.slot_ids, e->u.weighed.slot);

	if (index == NO_ID)
		return err_set(err, 3,
			       "stream: slot %u is weighed, and was never named; connect again",
			       e->u.weighed.slot);
	tick_weigh(m, index, e->u.weighed.sample != 0);
	return 0;
}

static int apply_proven(struct model *m, const struct event *e, struct err *err)
{
	struct node *n = node_by_id(&m->trie, e->u.proven.node);

	if (!n || !n->index)
		return err_set(err, 3,
			       "stream: node %u is proven, and was never named; connect again",
			       e->u.proven.node);
	trie_proven(&m->trie, n);
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
	if (e->u.tick.time_ns < bulk_time(m))
		return err_set(err, 3, "stream: time goes back; connect again");
	if (instants_full(&m->instants))
		thin_instants(m);
	instants_tick(&m->instants, e->u.tick.time_ns, e->u.tick.flags);
	if (m->resuming && !(e->u.tick.flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return 0; /* what is shown stays until the new state is complete */
	(m->tick.bulk.on ? bulk_tick : tick_apply)(m, e->u.tick.time_ns, e->u.tick.flags);
	return 0;
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
	int rc = marks_cell(&m->marks, &m->quota, &m->trie, e, m->resuming, &anew, err);

	if (anew)
		interval_unsettle(m, e->u.mark_live.mark);
	return rc;
}

static int apply_scan_thread(struct model *m, const struct event *e, struct err *err)
{
	if (threads_scanned(&m->threads, e, err))
		return -1;
	instants_looked(&m->instants, MTW_KIND_THREADS, 0, bulk_time(m));
	return 0;
}

static void apply_rss(struct model *m, const struct event *e)
{
	if (rss_apply(&m->rss, &m->marks, e))
		instants_looked(&m->instants, MTW_KIND_MEMORY, e->u.rss.time_ns, bulk_time(m));
	else
		m->instants.answers[MTW_KIND_MEMORY]++;
}

static int apply_cohorts(struct model *m, const struct event *e, struct err *err)
{
	int rc = cohorts_apply(&m->cohorts, e, err);

	if (rc > 0)
		instants_looked(&m->instants, MTW_KIND_COHORTS, e->u.cohorts.time_ns, bulk_time(m));
	return rc < 0 ? -1 : 0;
}

static int apply_counts(struct model *m, const struct event *e, struct err *err)
{
	if (!m->tick.bulk.on)
		return tick_stage(m, e->u.counts.slot, &e->u.counts.now, err);
	return bulk_counts(m, e->u.counts.slot, &e->u.counts.now, err);
}

int model_apply(struct model *m, const struct event *e, struct err *err)
{
	if (m->tick.bulk.coming_count && e->type != MTW_COUNTS && bulk_take(m, err))
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
	case MTW_SAMPLE_LIVE:
		return samples_cell(&m->samples, &m->quota, &m->trie, e, m->resuming, err);
	case MTW_STOPS: m->stops = e->u.stops; return 0;
	case MTW_PEAK: return peak_apply(&m->peak, &m->quota, &m->trie, e, err);
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
