/* SPDX-License-Identifier: MIT
 *
 * recall.c - makes a model of an instant whose heap the current model keeps by slot: a mark, or the
 * heap's peak.
 *
 * The agent sent what each slot had at the peak (heap/peak.h), and what was live in it at
 * a mark (model/history/marks.c). A mark ends an epoch, and a slot allocates in its own epoch
 * alone, so a mark's counters are known, too:
 *     allocated = what the slot of an epoch up to the mark's has allocated until now
 *     freed     = allocated - live at the mark
 * A block that a thread was allocating while the mark was set may be in both.
 * They go in as events, as if the agent had sent them at that instant. What else the model has may
 * come from a session's frames up to the last tick before (link/replay.c). Without any, what the
 * current model holds of the time up to the instant is entered, and nothing else is known of it: no
 * scans, nor what each thread did.
 */
#include "model/columns.h"
#include "model/model_state.h"

#include <stdlib.h>
#include <string.h>

static struct text text(const char *s)
{
	return (struct text){ s ? s : "", s ? strlen(s) : 0 };
}

static int greet(struct model *m, const struct program *p, struct err *err)
{
	struct event e = { .type = MTW_HELLO };

	e.u.hello.pid = p->pid;
	e.u.hello.uid = p->uid;
	e.u.hello.word_bits = p->word_bits;
	e.u.hello.start_unix_ns = p->start_unix_ns;
	e.u.hello.features = p->features;
	e.u.hello.tick_ns = p->tick_ns;
	e.u.hello.exe = text(p->exe);
	e.u.hello.arch = text(p->arch);
	e.u.hello.agent_version = text(p->agent_version);
	e.u.hello.options = text(p->options);
	e.u.hello.arg_count = p->arg_count;
	for (size_t i = 0; i < p->arg_count; i++)
		e.u.hello.args[i] = text(p->args[i]);
	e.u.hello.forked = p->forked;
	e.u.hello.before = p->before;
	e.u.hello.inherits_apart = p->inherits_apart;
	e.u.hello.first_epoch = p->first_epoch;
	return model_apply(m, &e, err);
}

static int recall_options(struct model *m, const struct options *x, struct err *err)
{
	for (size_t i = 0; i < x->count; i++) {
		struct event e = { .type = MTW_OPTION };
		e.u.option.name = text(x->list[i].name);
		e.u.option.value = text(x->list[i].value);
		e.u.option.who = text(x->list[i].who);
		if (model_apply(m, &e, err))
			return -1;
	}
	return 0;
}

static int recall_filters(struct model *m, const struct filters *x, uint64_t until, struct err *err)
{
	for (uint32_t i = 0; i < x->count && x->list[i].since_ns <= until; i++) {
		const struct recorded *f = &x->list[i];
		struct event e = { .type = MTW_FILTER };
		e.u.filter.index = i;
		e.u.filter.since_ns = f->since_ns;
		e.u.filter.sample = f->sample;
		e.u.filter.min_size = f->min_size;
		e.u.filter.max_size = f->max_size;
		e.u.filter.merge = f->merge;
		e.u.filter.libs = text(f->libs);
		e.u.filter.exclude = text(f->exclude);
		e.u.filter.who = text(f->who);
		if (model_apply(m, &e, err))
			return -1;
	}
	return 0;
}

/* Of a mark, or a sample. */
static int recall_cells(struct model *m, uint32_t type, uint32_t number,
			const struct mark_cells *cells, struct err *err)
{
	struct event e = { .type = type };
	struct cell_at x = { 0 };
	struct mark_cell c;

	e.u.mark_live.mark = number;
	while (cells_next(cells, &x, &c)) {
		if (idmap_get(&m->maker->columns.slot_ids, c.slot) == NO_ID)
			continue; /* at its event the link was closed */
		e.u.mark_live.slot = c.slot;
		e.u.mark_live.blocks = c.blocks;
		e.u.mark_live.bytes = c.bytes;
		if (model_apply(m, &e, err))
			return -1;
	}
	e.u.mark_live.end = true;
	return model_apply(m, &e, err);
}

static int recall_mark(struct model *m, const struct mark *k, struct err *err)
{
	struct event e = { .type = MTW_MARK };

	e.u.mark.id = k->id;
	e.u.mark.flags = k->flags;
	e.u.mark.epoch = k->epoch;
	e.u.mark.time_ns = k->time_ns;
	e.u.mark.rss_bytes = k->rss_bytes;
	e.u.mark.name = text(k->name);
	e.u.mark.set_by = text(k->set_by);
	e.u.mark.totals = k->totals;
	return model_apply(m, &e, err);
}

/* k is of another model; `m` may know it already, by its totals or whole. */
static int recall_unknown_mark(struct model *m, const struct mark *k, struct err *err)
{
	const struct mark *has = k->id < m->marks.limit ? &m->marks.list[k->id] : NULL;
	bool known = has && has->known, live = known && has->live_known;

	if (!known && recall_mark(m, k, err))
		return -1;
	return k->live_known && !live ? recall_cells(m, MTW_MARK_LIVE, k->id, &k->cells, err) : 0;
}

/* Those up to then that `m` lacks. They may have arrived after the tick that `m` is of. */
static int recall_marks(struct model *m, const struct marks *x, uint64_t until, struct err *err)
{
	for (size_t id = 1; id < x->limit; id++)
		if (x->list[id].known && x->list[id].time_ns <= until &&
		    recall_unknown_mark(m, &x->list[id], err))
			return -1;
	return 0;
}

static int recall_samples(struct model *m, const struct samples *x, uint64_t until, struct err *err)
{
	struct event e = { .type = MTW_SAMPLES };

	if (!x->told)
		return 0;
	e.u.samples.flags = x->totals_only ? MTW_SAMPLES_TOTALS_ONLY : 0;
	while (e.u.samples.count < x->count && x->list[e.u.samples.count].f.time_ns <= until) {
		e.u.samples.list[e.u.samples.count] = x->list[e.u.samples.count].f;
		e.u.samples.count++;
	}
	if (model_apply(m, &e, err))
		return -1;
	for (size_t i = 0; i < e.u.samples.count; i++)
		if (x->list[i].whole &&
		    recall_cells(m, MTW_SAMPLE_LIVE, x->list[i].f.serial, &x->list[i].cells, err))
			return -1;
	return 0;
}

static int recall_stops(struct model *m, const struct stops *x, uint64_t until, struct err *err)
{
	struct event e = { .type = MTW_STOPS };

	e.u.stops = stops_up_to(x, until);
	return model_apply(m, &e, err);
}

/* The points up to then, and the resident memory of the last one. */
static int recall_history(struct model *m, const struct series *x, uint64_t until, struct err *err)
{
	struct event e = { .type = MTW_HISTORY }, process = { .type = MTW_PROCESS };

	e.u.history.first = true;
	for (size_t i = 0; i < x->count && x->points[i].time_ns <= until; i++) {
		e.u.history.point = x->points[i];
		process.u.process.rss = x->points[i].rss_bytes;
		if (model_apply(m, &e, err))
			return -1;
		e.u.history.first = false;
	}
	return model_apply(m, &process, err);
}

/* By the wire's ids: what the columns have of a slot is by its order of arrival. */
static int recall_weighed(struct model *m, const struct columns *c, struct err *err)
{
	struct event e = { .type = MTW_WEIGHED };

	e.u.weighed.sample = 1;
	for (uint32_t id = 0; id < c->slots->ids.end; id++) {
		uint32_t slot = slots_find(c->slots, id);
		e.u.weighed.slot = id;
		if (slot != NO_ID && bit_of(c->sampled_bits, slot) && model_apply(m, &e, err))
			return -1;
	}
	return 0;
}

/* A slot's counters at a mark. was: what they were before; none of them shrinks. It may have more
 * live than it has allocated yet: the mark is newer than the last tick. */
static struct tally counters_at(const struct columns *c, uint32_t slot, uint64_t epoch,
				const struct live *live, const struct tally *was)
{
	const struct tally now = columns_now(c, slot);
	struct tally then = *was;

	if (columns_epoch(c, slot) <= epoch) {
		if (now.alloc_blocks > then.alloc_blocks)
			then.alloc_blocks = now.alloc_blocks;
		if (now.alloc_bytes > then.alloc_bytes)
			then.alloc_bytes = now.alloc_bytes;
	}
	if (live->blocks + was->free_blocks > then.alloc_blocks)
		then.alloc_blocks = live->blocks + was->free_blocks;
	if (live->bytes + was->free_bytes > then.alloc_bytes)
		then.alloc_bytes = live->bytes + was->free_bytes;
	then.free_blocks = then.alloc_blocks - live->blocks;
	then.free_bytes = then.alloc_bytes - live->bytes;
	return then;
}

/* What each slot had at the mark, or at the peak, by order of arrival; free() it. was: in the model
 * that becomes one of it, which has the same slots, or fewer. */
static struct tally *kept_counters(const struct model *from, const struct columns *c, uint32_t mark,
				   const struct columns *was)
{
	struct tally *list = xcalloc(c->slots->count + 1ul, sizeof *list), none = { 0 };
	struct live *held = mark ? model_held_at(from, c->slots, mark) : NULL;
	struct peak_at at = { 0 };
	struct peak_cell cell;

	while (!mark && peak_next(&c->peak, &at, &cell))
		list[cell.slot] = cell.then;
	for (uint32_t a = 0; held && a < c->slots->count; a++) {
		struct tally before = a < was->slots->count ? columns_now(was, a) : none;
		list[a] = counters_at(c, a, from->marks.list[mark].epoch, &held[a], &before);
	}
	free(held);
	return list;
}

/* sum: of all slots; moves with them. */
static int recall_counters(struct model *m, const struct model *from, uint32_t mark,
			   struct tally *sum, struct err *err)
{
	const struct columns *c = model_columns(from), *was = model_columns(m);
	struct tally *list = kept_counters(from, c, mark, was);
	struct event e = { .type = MTW_COUNTS };
	uint32_t end = c->slots->ids.end;
	int rc = 0;

	for (uint32_t id = 0; id < end && !rc; id++) {
		uint32_t slot = slots_find(c->slots, id);
		if (slot >= was->slots->count)
			continue;
		struct tally before = columns_now(was, slot),
			     more = tally_sub(&list[slot], &before);
		if (!(more.alloc_blocks | more.alloc_bytes | more.free_blocks | more.free_bytes))
			continue;
		tally_add(sum, &more);
		e.u.counts.slot = id;
		e.u.counts.now = list[slot];
		rc = model_apply(m, &e, err);
	}
	free(list);
	return rc;
}

/* The totals' peak may be later than a mark: then it is the highest point up to that. */
static void limit_peak(struct totals *t, const struct series *x, uint64_t until, bool later)
{
	if (later && t->peak_time_ns > until) {
		t->peak_bytes = t->peak_error_bytes = 0;
		for (size_t i = 0; i < x->count && x->points[i].time_ns <= until; i++)
			if (x->points[i].live_bytes > t->peak_bytes) {
				t->peak_bytes = x->points[i].live_bytes;
				t->peak_time_ns = x->points[i].time_ns;
			}
	}
	if (live_bytes(&t->sum) > t->peak_bytes) {
		t->peak_bytes = live_bytes(&t->sum);
		t->peak_time_ns = until;
	}
}

uint64_t model_kept_time(const struct model *m, uint32_t mark)
{
	return mark ? m->marks.list[mark].time_ns : m->peak.at.time_ns;
}

int model_recall_heap(struct model *m, const struct model *from, uint32_t mark, struct err *err)
{
	uint64_t at = model_kept_time(from, mark);
	struct event e = { .type = MTW_TOTALS }, tick = { .type = MTW_TICK };
	struct totals *t = &e.u.totals;

	if (model_seed(m, from, err)) /* what came since */
		return -1;
	*t = m->complete ? m->totals : from->totals;
	t->sum = m->complete ? m->totals.sum : (struct tally){ 0 };
	if (recall_counters(m, from, mark, &t->sum, err))
		return -1;
	t->time_ns = at;
	if (!m->complete) {
		t->slots_total = t->slots_sent = columns_slots(&m->maker->columns);
		t->live_sent_bytes = live_bytes(&t->sum);
	}
	limit_peak(t, &from->history.series, at, mark);
	tick.u.tick.time_ns = at > m->time_ns ? at : m->time_ns;
	tick.u.tick.flags = MTW_TICK_COMPLETE;
	return recall_marks(m, &from->marks, at, err) || model_apply(m, &e, err) ||
			       model_apply(m, &tick, err)
		       ? -1
		       : 0;
}

int model_recall(struct model *m, const struct model *from, uint32_t mark, struct err *err)
{
	uint64_t until = model_kept_time(from, mark);
	bool failed = (!m->hello && greet(m, &from->program, err)) || model_seed(m, from, err) ||
		      recall_options(m, &from->options, err) ||
		      recall_filters(m, &from->filters, until, err) ||
		      recall_marks(m, &from->marks, until, err) ||
		      recall_stops(m, &from->stops, until, err) ||
		      recall_samples(m, &from->samples, until, err) ||
		      recall_history(m, &from->history.series, until, err) ||
		      recall_weighed(m, model_columns(from), err) ||
		      model_recall_heap(m, from, mark, err);

	return failed ? -1 : 0;
}

uint32_t model_kept_at(const struct model *m, uint64_t time_ns)
{
	for (uint32_t id = 1; id < m->marks.limit; id++)
		if (m->marks.list[id].time_ns == time_ns && model_mark_says(m, id))
			return id;
	return m->peak.whole && m->peak.at.time_ns == time_ns ? KEPT_PEAK : NO_ID;
}
