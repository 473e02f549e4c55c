/* SPDX-License-Identifier: MIT
 *
 * recall.c - makes a model of the heap's peak, from the agent's snapshot of it
 * (model/history/peak.c).
 *
 * It begins as that of any other instant does (model/rewind.c), and then needs no frames: what the
 * current model holds of the time up to the peak is entered into it, as events, with the counters
 * of the snapshot. What is not known of that instant stays out: scans, and what each thread did.
 */
#include "model/internal.h"

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

int model_recall_marks(struct model *m, const struct model *from, uint64_t until_ns,
		       struct err *err)
{
	const struct marks *x = &from->marks;

	for (size_t id = 1; id < x->limit; id++)
		if (x->list[id].known && x->list[id].time_ns <= until_ns &&
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

static int recall_weighed(struct model *m, const struct trie *t, struct err *err)
{
	for (uint32_t i = 0; i < t->slot_count; i++) {
		const struct slot *s = slot_at(t, i);
		struct event e = { .type = MTW_WEIGHED };
		e.u.weighed.slot = s->id;
		e.u.weighed.sample = 1;
		if (s->sampled && model_apply(m, &e, err))
			return -1;
	}
	return 0;
}

static int recall_counters(struct model *m, const struct model *from, struct err *err)
{
	struct event e = { .type = MTW_TOTALS };

	e.u.totals = from->totals;
	e.u.totals.time_ns = from->peak.at.time_ns;
	e.u.totals.sum = from->peak.at.sum;
	e.u.totals.slots_total = e.u.totals.slots_sent = from->trie.slot_count;
	e.u.totals.live_sent_bytes = live_bytes(&from->peak.at.sum);
	if (model_apply(m, &e, err))
		return -1;
	for (uint32_t i = 0; i < from->trie.slot_count; i++) {
		e = (struct event){ .type = MTW_COUNTS };
		e.u.counts.slot = slot_at(&from->trie, i)->id;
		e.u.counts.now = peak_of_slot(&from->peak, i);
		if ((e.u.counts.now.alloc_blocks | e.u.counts.now.alloc_bytes) &&
		    model_apply(m, &e, err))
			return -1;
	}
	e = (struct event){ .type = MTW_TICK };
	e.u.tick.time_ns = from->peak.at.time_ns;
	e.u.tick.flags = MTW_TICK_COMPLETE;
	return model_apply(m, &e, err);
}

int model_recall_peak(struct model *m, const struct model *from, size_t steps, struct err *err)
{
	uint64_t until = from->peak.at.time_ns;

	if (!m->hello && greet(m, &from->program, err))
		return -1;
	int rc = model_seed(m, from, steps, err);
	if (rc < 1)
		return rc;
	bool failed = recall_options(m, &from->options, err) ||
		      recall_filters(m, &from->filters, until, err) ||
		      model_recall_marks(m, from, until, err) ||
		      recall_stops(m, &from->stops, until, err) ||
		      recall_samples(m, &from->samples, until, err) ||
		      recall_history(m, &from->history.series, until, err) ||
		      recall_weighed(m, &from->trie, err) || recall_counters(m, from, err);
	return failed ? -1 : 1;
}
