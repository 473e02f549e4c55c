/* SPDX-License-Identifier: MIT
 *
 * dump.c - writes the whole model as frames of the wire: a session file's key frame.
 *
 * A model to which these frames are applied in bulk continues as this one does: the same figures at
 * every later tick, in the same dense order. What the agent sends has its own frames, in the order
 * of a first state. The rest (history, instants, totals and rates of the last ticks) follows in
 * frames of memtop's own (MTW_S_INSTANTS to MTW_S_KEY).
 *
 * Only a model between two ticks can be written, and only while nothing arrives in parts.
 */
#include "model/columns.h"
#include "model/model_state.h"

#include <stdlib.h>
#include <string.h>

#define BATCH 4096u /* entries of a frame */

struct dump {
	int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len);
	void *arg;
	uint8_t *room;             /* of both: */
	struct mtw_out head, body; /* a frame's fields; its entries, with the count before them */
	uint64_t count, last;      /* entries; the id before */
	uint32_t *slot_ids;        /* by order of arrival */
	int rc;
};

static void start(struct dump *d)
{
	d->head = (struct mtw_out){ d->room, d->room + MTW_FRAME_MAX, false };
	d->body = (struct mtw_out){ d->room + MTW_FRAME_MAX, d->room + 2 * MTW_FRAME_MAX, false };
	d->count = d->last = 0;
}

static void put(struct dump *d, uint64_t v)
{
	mtw_put(&d->head, v);
}

static void put_tally(struct mtw_out *o, const struct tally *t)
{
	mtw_put(o, t->alloc_blocks);
	mtw_put(o, t->alloc_bytes);
	mtw_put(o, t->free_blocks);
	mtw_put(o, t->free_bytes);
}

/* A frame without entries. */
static void put_frame(struct dump *d, uint64_t type)
{
	if (!d->rc && !d->head.full)
		d->rc = d->fn(d->arg, type, d->room, (size_t)(d->head.at - d->room));
	start(d);
}

static void put_entries(struct dump *d, uint64_t type)
{
	size_t len = (size_t)(d->body.at - (d->room + MTW_FRAME_MAX));

	put(d, d->count);
	if (len > (size_t)(d->head.end - d->head.at) || d->body.full)
		d->head.full = true; /* past the bound of a frame: no agent sends that much */
	else
		memcpy(d->head.at, d->room + MTW_FRAME_MAX, len);
	d->head.at += d->head.full ? 0 : len;
	put_frame(d, type);
}

static void begin_entry(struct dump *d, uint64_t id)
{
	mtw_put(&d->body, id - d->last);
	d->last = id;
	d->count++;
}

static void put_batch(struct dump *d, uint64_t type)
{
	if (d->count)
		put_entries(d, type);
}

static void put_full_batch(struct dump *d, uint64_t type)
{
	if (d->count == BATCH)
		put_entries(d, type);
}

static void put_hello(struct dump *d, const struct model *m)
{
	const struct program *p = &m->program;
	const uint64_t figures[] = { MTW_VERSION,      p->features, p->pid,     p->uid,
				     p->start_unix_ns, m->time_ns,  p->tick_ns, p->word_bits };

	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		put(d, figures[i]);
	mtw_put_string(&d->head, p->arch);
	mtw_put_string(&d->head, p->exe);
	mtw_put_string(&d->head, p->agent_version);
	mtw_put_string(&d->head, p->options);
	put(d, p->arg_count);
	for (size_t i = 0; i < p->arg_count; i++)
		mtw_put_string(&d->head, p->args[i]);
	put(d, p->forked);
	if (p->forked)
		put_tally(&d->head, &p->before);
	if (p->forked && p->inherits_apart)
		put(d, p->first_epoch);
	put_frame(d, MTW_HELLO);
}

static void put_options(struct dump *d, const struct model *m)
{
	for (size_t i = 0; i < m->options.count; i++) {
		mtw_put_string(&d->head, m->options.list[i].name);
		mtw_put_string(&d->head, m->options.list[i].value);
		mtw_put_string(&d->head, m->options.list[i].who);
		put_frame(d, MTW_OPTION);
	}
	for (size_t i = 0; i < m->filters.count; i++) {
		const struct recorded *f = &m->filters.list[i];
		const uint64_t figures[] = { i,           f->since_ns, f->sample,
					     f->min_size, f->max_size, f->merge };
		for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
			put(d, figures[k]);
		mtw_put_string(&d->head, f->libs);
		mtw_put_string(&d->head, f->exclude);
		mtw_put_string(&d->head, f->who);
		put_frame(d, MTW_FILTER);
	}
}

/* A new field belongs here, too. */
_Static_assert(sizeof(struct totals) == 18 * sizeof(uint64_t), "put_totals() writes all fields");

static void put_totals(struct dump *d, const struct totals *t)
{
	const uint64_t figures[] = {
		t->peak_bytes,   t->peak_error_bytes, t->peak_time_ns,      t->agent_memory_bytes,
		t->agent_cpu_ns, t->hook_ns,          t->target_cpu_ns,     t->slots_total,
		t->slots_sent,   t->live_sent_bytes,  t->agent_limit_bytes, t->hook_error_ns,
		t->walked
	};

	put(d, t->time_ns);
	put_tally(&d->head, &t->sum);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		put(d, figures[i]);
	put_frame(d, MTW_TOTALS);
}

static void put_state(struct dump *d, const struct model *m)
{
	if (m->state == MTW_LINK_LOST || m->state == MTW_CUT)
		return; /* a viewer's own */
	put(d, m->state);
	put(d, (uint32_t)m->status);
	put(d, m->time_ns);
	put(d, m->status_known);
	put_frame(d, MTW_STATE);
}

static void put_figures(struct dump *d, const struct model *m)
{
	const struct figures *f = &m->figures;
	const struct effort *e = &f->effort;

	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		put(d, i);
		put(d, f->loss_events[i]);
		put(d, f->loss_bytes[i]);
		put_frame(d, MTW_LOSS);
	}
	put(d, f->rss);
	put(d, f->virt);
	put(d, f->process_threads);
	put(d, f->process_children);
	put_frame(d, MTW_PROCESS);
	put(d, e->allocations);
	put(d, e->captures);
	put(d, e->whole);
	put(d, e->frames);
	put(d, e->pc_misses);
	put(d, e->edge_misses);
	put_frame(d, MTW_STACKS);
	put(d, f->part_count);
	for (size_t i = 0; i < f->part_count; i++) {
		mtw_put_string(&d->head, f->parts[i].name);
		put(d, f->parts[i].bytes);
	}
	put_frame(d, MTW_MEMORY);
}

static void put_modules(struct dump *d, const struct model *m)
{
	for (size_t id = 0; id < m->modules.count; id++) {
		const struct module *k = &m->modules.list[id];
		if (!k->known)
			continue;
		const uint64_t figures[] = { id,     k->flags,     k->bias,       k->start,
					     k->end, k->loaded_ns, k->unloaded_ns };
		for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
			put(d, figures[i]);
		mtw_put_bytes(&d->head, k->build_id, k->build_id_len);
		mtw_put_string(&d->head, k->path);
		put_frame(d, MTW_MODULE);
	}
}

static void put_node(struct dump *d, const struct model *m, const struct skeleton *s, uint32_t n)
{
	const struct location *at = model_location(m, s->location[n]);

	begin_entry(d, s->id[n]);
	mtw_put(&d->body, at->kind);
	mtw_put(&d->body, s->id[s->parent[n]]);
	if (at->kind <= MTW_NODE_SIGNAL)
		mtw_put(&d->body, at->module);
	mtw_put(&d->body, at->offset);
}

static void put_paths(struct dump *d, const struct model *m, const struct skeleton *s)
{
	for (uint32_t a = 1; a < s->nodes; a++) {
		put_node(d, m, s, s->node_of[a]);
		put_full_batch(d, MTW_NODES);
	}
	put_batch(d, MTW_NODES);
	for (uint32_t a = 1; a < s->nodes; a++) {
		if (!bit_of(s->by_pointer_bits, s->node_of[a]))
			continue;
		begin_entry(d, s->id[s->node_of[a]]);
		mtw_put(&d->body, MTW_BY_POINTER);
		put_full_batch(d, MTW_PROVEN);
	}
	put_batch(d, MTW_PROVEN);
}

static void put_slots(struct dump *d, const struct columns *c)
{
	const struct skeleton *s = c->skeleton;

	for (uint32_t a = 0; a < c->slots->count; a++) {
		begin_entry(d, d->slot_ids[a]);
		mtw_put(&d->body, s->id[s->node_of_stack[c->slots->stack[a]]]);
		mtw_put(&d->body, c->slots->epoch[a]);
		put_full_batch(d, MTW_SLOTS);
	}
	put_batch(d, MTW_SLOTS);
	for (uint32_t a = 0; a < c->slots->count; a++) {
		if (!bit_of(c->sampled_bits, a))
			continue;
		begin_entry(d, d->slot_ids[a]);
		mtw_put(&d->body, 1);
		put_full_batch(d, MTW_WEIGHED);
	}
	put_batch(d, MTW_WEIGHED);
}

static void put_counts(struct dump *d, const struct columns *c)
{
	for (uint32_t a = 0; a < c->slots->count; a++) {
		const struct tally *now = columns_now(c, a);
		if (!(now->alloc_blocks | now->alloc_bytes))
			continue;
		begin_entry(d, d->slot_ids[a]);
		put_tally(&d->body, now);
		put_full_batch(d, MTW_COUNTS);
	}
	put_batch(d, MTW_COUNTS);
}

static void put_threads(struct dump *d, const struct model *m)
{
	for (size_t i = 0; i < m->threads.count; i++) {
		const struct thread *t = &m->threads.list[i];
		if (!t->known)
			continue;
		put(d, i);
		put(d, t->tid);
		put(d, t->ended);
		mtw_put_string(&d->head, t->name);
		put_tally(&d->head, &t->done);
		put_frame(d, MTW_THREAD);
	}
	put(d, m->threads.scan_request);
	for (size_t i = 0; i < m->threads.count; i++) {
		const struct thread *t = &m->threads.list[i];
		if (!(t->live_blocks | t->live_bytes))
			continue;
		mtw_put(&d->body, i);
		mtw_put(&d->body, t->live_blocks);
		mtw_put(&d->body, t->live_bytes);
		d->count++;
	}
	put_entries(d, MTW_SCAN_THREADS);
}

/* Of a mark, or a sample. */
static void put_cells(struct dump *d, uint64_t type, uint32_t number,
		      const struct mark_cells *cells)
{
	if (!d->rc)
		d->rc = cells_write(cells, type, number, true, d->fn, d->arg);
}

static void put_marks(struct dump *d, const struct marks *x)
{
	for (uint32_t id = 1; id < x->limit; id++) {
		const struct mark *k = &x->list[id];
		if (!k->known)
			continue;
		put(d, id);
		put(d, k->epoch);
		put(d, k->flags);
		put(d, k->time_ns);
		mtw_put_string(&d->head, k->name);
		mtw_put_string(&d->head, k->set_by);
		put_tally(&d->head, &k->totals);
		put(d, k->rss_bytes);
		put_frame(d, MTW_MARK);
	}
	for (uint32_t id = 1; id < x->limit; id++)
		if (x->list[id].known && x->list[id].live_known)
			put_cells(d, MTW_MARK_LIVE, id, &x->list[id].cells);
}

static void put_samples(struct dump *d, const struct samples *x)
{
	if (!x->told)
		return;
	put(d, x->totals_only ? MTW_SAMPLES_TOTALS_ONLY : 0);
	for (size_t i = 0; i < x->count; i++) {
		const struct sample_figures *f = &x->list[i].f;
		begin_entry(d, f->serial);
		mtw_put(&d->body, f->time_ns);
		mtw_put(&d->body, f->live_bytes);
		mtw_put(&d->body, f->low_bytes);
		mtw_put(&d->body, f->fall_bytes);
		mtw_put(&d->body, f->rss_bytes);
	}
	put_entries(d, MTW_SAMPLES);
	for (size_t i = 0; i < x->count; i++)
		if (x->list[i].whole)
			put_cells(d, MTW_SAMPLE_LIVE, x->list[i].f.serial, &x->list[i].cells);
}

static void put_stops(struct dump *d, const struct stops *x)
{
	if (!x->count && !x->slept_ns)
		return;
	put(d, x->slept_ns);
	put(d, x->slept_at_ns);
	for (size_t i = 0; i < x->count; i++) {
		const struct stop *p = &x->list[i];
		mtw_put(&d->body, p->begin_ns);
		mtw_put(&d->body, p->end_ns == UINT64_MAX ? 0 : p->end_ns);
		mtw_put(&d->body, p->stopped_ns);
		mtw_put(&d->body, p->times);
		mtw_put(&d->body, p->why);
		mtw_put(&d->body, p->pid);
		mtw_put_string(&d->body, p->name);
		d->count++;
	}
	put_entries(d, MTW_STOPS);
}

static void put_peak(struct dump *d, const struct model *m, const struct columns *c)
{
	uint32_t flags = MTW_PART_FIRST;
	struct peak_at at = { 0 };
	struct peak_cell cell;
	bool more = peak_next(&c->peak, &at, &cell);

	while (m->peak.whole && !(flags & MTW_PART_LAST)) {
		for (; more && d->count < BATCH; more = peak_next(&c->peak, &at, &cell)) {
			if (!(cell.then.alloc_blocks | cell.then.alloc_bytes))
				continue;
			begin_entry(d, d->slot_ids[cell.slot]);
			put_tally(&d->body, &cell.then);
		}
		flags |= more ? 0 : MTW_PART_LAST;
		put(d, m->peak.serial);
		put(d, flags);
		put(d, m->peak.at.time_ns);
		put_tally(&d->head, &m->peak.at.sum);
		put_entries(d, MTW_PEAK);
		flags &= ~MTW_PART_FIRST;
	}
}

/* as many as a reader takes */
#define NAMED_MAX (MTW_RSS_PARTS_MAX - MTW_MEMORY_COUNT)

static void put_rss(struct dump *d, const struct rss_answers *x, size_t i)
{
	struct rss left = x->list[i];

	put(d, 1);
	put(d, left.time_ns);
	for (size_t k = 0; i + 1 == x->count && k < x->named_count && k < NAMED_MAX; k++) {
		const struct rss_named *n = &x->named[k];
		mtw_put(&d->body, n->what);
		mtw_put_string(&d->body, n->name);
		mtw_put(&d->body, n->bytes);
		mtw_put(&d->body, n->mappings);
		left.bytes[n->what] -= n->bytes;
		left.mappings[n->what] -= n->mappings;
		d->count++;
	}
	for (unsigned what = 0; what < MTW_MEMORY_COUNT; what++) {
		mtw_put(&d->body, what);
		mtw_put_string(&d->body, "");
		mtw_put(&d->body, left.bytes[what]);
		mtw_put(&d->body, left.mappings[what]);
		d->count++;
	}
	put_entries(d, MTW_SCAN_MEMORY);
}

static void put_age_cells(struct dump *d, const struct age_cell *list, size_t count)
{
	put(d, count);
	for (size_t i = 0; i < count; i++) {
		put(d, list[i].key);
		put(d, list[i].blocks);
		put(d, list[i].bytes);
	}
}

static void put_cohorts(struct dump *d, const struct cohorts *c)
{
	uint32_t flags = MTW_PART_FIRST;
	size_t i = 0;

	while (!(flags & MTW_PART_LAST)) {
		for (; i < c->count && d->count < BATCH; i++) {
			const struct cohort *x = &c->list[i];
			begin_entry(d, x->slot);
			mtw_put(&d->body, x->thread);
			mtw_put(&d->body, x->age_s);
			mtw_put(&d->body, x->blocks);
			mtw_put(&d->body, x->bytes);
		}
		flags |= i == c->count ? MTW_PART_LAST : 0;
		put(d, 1);
		put(d, flags);
		put(d, c->time_ns);
		put(d, c->left_blocks);
		put(d, c->left_bytes);
		put_entries(d, MTW_SCAN_COHORTS);
		flags &= ~MTW_PART_FIRST;
	}
}

static void put_scans(struct dump *d, const struct model *m)
{
	const struct scan_ages *a = &m->ages.now;

	for (size_t i = 0; i < m->rss.count; i++)
		put_rss(d, &m->rss, i);
	if (m->ages.known) {
		put(d, a->request);
		put(d, a->blocks);
		put(d, a->bytes);
		put_age_cells(d, a->births, a->birth_count);
		put_age_cells(d, a->sizes, a->size_count);
		put_age_cells(d, a->threads, a->thread_count);
		put_frame(d, MTW_SCAN_AGES);
	}
	if (m->cohorts.whole)
		put_cohorts(d, &m->cohorts.now);
}

static void put_point(struct mtw_out *o, const struct point *p)
{
	mtw_put(o, p->time_ns);
	mtw_put(o, p->live_bytes);
	mtw_put(o, p->live_blocks);
	mtw_put(o, p->alloc_bytes);
	mtw_put(o, p->alloc_blocks);
	mtw_put(o, p->free_blocks);
	mtw_put(o, p->rss_bytes);
}

static void put_series(struct dump *d, const struct series *s)
{
	if (s->from_agent) {
		put(d, 0);
		put(d, s->owner_count);
		for (size_t i = 0; i < s->owner_count; i++)
			put(d, s->owners[i]);
		put(d, s->from_agent);
		for (size_t i = 0; i < s->from_agent; i++) {
			put_point(&d->head, &s->points[i]);
			for (size_t k = 0; k < s->owner_count; k++)
				put(d, s->owner_bytes[i][k]);
		}
		put_frame(d, MTW_HISTORY);
	}
	put(d, s->spacing_ns);
	for (size_t i = s->from_agent; i < s->count; i++) {
		put_point(&d->body, &s->points[i]);
		d->count++;
	}
	put_entries(d, MTW_S_POINTS);
}

static void put_instants(struct dump *d, const struct instants *x)
{
	struct instant before = { 0 };

	for (size_t i = 0; i < x->count; i++) {
		mtw_put(&d->body, x->list[i].time_ns - before.time_ns);
		mtw_put(&d->body, x->list[i].ticks - before.ticks);
		before = x->list[i];
		d->count++;
		if (d->count < BATCH)
			continue;
		put_entries(d, MTW_S_INSTANTS);
		before = (struct instant){ 0 };
	}
	put_batch(d, MTW_S_INSTANTS);
}

static void put_window_threads(struct dump *d, const struct model *m, const struct rate_part *p)
{
	for (size_t i = 0; i < p->thread_count; i++) {
		struct rate now = thread_done(&m->threads, (uint32_t)i), *then = &p->threads[i];
		if (!memcmp(&now, then, sizeof now))
			continue;
		mtw_put(&d->body, i);
		mtw_put(&d->body, then->blocks);
		mtw_put(&d->body, then->bytes);
		mtw_put(&d->body, then->freed);
		d->count++;
	}
	if (p->threads)
		put_entries(d, MTW_S_WINDOW_THREADS);
}

static void put_window(struct dump *d, const struct model *m, const struct columns *c)
{
	for (size_t i = 0; i < m->rates.count; i++) {
		const struct rate_part *head = rates_part(&m->rates, i);
		const struct window_part *p = window_part(&c->window, (uint32_t)i);
		struct rate_entry e;
		size_t at = 0;
		bool first = true, more = window_next(p, &at, &e);
		do {
			put(d, head->begin_ns);
			put_tally(&d->head, &head->before);
			put(d, !first);
			for (; more && d->count < BATCH;
			     more = window_next(p, &at, &e), d->count++) {
				mtw_put(&d->body, d->slot_ids[e.slot]);
				mtw_put(&d->body, e.blocks);
				mtw_put(&d->body, e.bytes);
				mtw_put(&d->body, e.freed);
			}
			put_entries(d, MTW_S_WINDOW);
			first = false;
		} while (more);
		put_window_threads(d, m, head);
	}
}

int model_dump_end(const struct model *m,
		   int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len),
		   void *arg)
{
	uint8_t payload[256];
	struct mtw_out o = { payload, payload + sizeof payload, false };

	mtw_put(&o, m->time_ns);
	mtw_put(&o, (m->tick_complete ? MTW_TICK_COMPLETE : 0) | (m->final ? MTW_TICK_FINAL : 0));
	mtw_put(&o, m->instants.ticks_read);
	mtw_put(&o, MTW_KIND_COUNT);
	for (int i = 0; i < MTW_KIND_COUNT; i++) {
		mtw_put(&o, m->instants.looked_ns[i]);
		mtw_put(&o, m->instants.answers[i]);
	}
	return fn(arg, MTW_S_KEY, payload, (size_t)(o.at - payload));
}

/* Nothing has arrived in part. */
static bool is_whole(const struct model *m)
{
	bool whole = !m->peak.coming && !m->cohorts.begun;

	for (size_t i = 1; whole && i < m->marks.limit; i++)
		whole = !mark_in_chain(&m->marks.list[i]) || m->marks.list[i].live_known;
	for (size_t i = 0; whole && i < m->samples.count && !m->samples.totals_only; i++)
		whole = m->samples.list[i].whole;
	return whole;
}

bool model_dumps(const struct model *m)
{
	return m->hello && m->complete && !m->resuming && !m->tick.bulk.on && !m->mid_tick &&
	       !m->totals_pending && is_whole(m) && maker_idle((struct model *)m);
}

int model_dump(const struct model *m,
	       int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len), void *arg)
{
	struct dump d = { .fn = fn, .arg = arg, .room = xmalloc((size_t)2 * MTW_FRAME_MAX) };
	const struct columns *c = model_columns(m);

	d.slot_ids = slots_ids(c->slots);
	start(&d);
	put_hello(&d, m);
	put_options(&d, m);
	d.rc = d.rc ? d.rc : notices_write(&m->notices, fn, arg);
	put_state(&d, m);
	put_figures(&d, m);
	put_modules(&d, m);
	put_paths(&d, m, c->skeleton);
	put_slots(&d, c);
	put_series(&d, &m->history.series);
	put_instants(&d, &m->instants);
	put_marks(&d, &m->marks);
	put_stops(&d, &m->stops);
	put_samples(&d, &m->samples);
	put_peak(&d, m, c);
	put_threads(&d, m);
	put_scans(&d, m);
	put_window(&d, m, c);
	put_counts(&d, c);
	put_totals(&d, &m->totals);
	free(d.slot_ids);
	free(d.room);
	return d.rc;
}
