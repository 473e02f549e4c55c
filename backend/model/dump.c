/* SPDX-License-Identifier: MIT
 *
 * dump.c - writes the whole model as frames of the wire: a session file's key frame.
 *
 * A model to which these frames are applied continues as this one does: the same figures at
 * every later tick, in the same dense order. What the agent sends has its own frames, in the order
 * of a first state. The rest (history, instants, totals and rates of the last ticks) follows in
 * frames of memtop's own (MTW_S_INSTANTS to MTW_S_KEY).
 *
 * Only a model between two ticks can be written, and only while nothing arrives in parts.
 */
#include "model/columns.h"
#include "model/model_state.h"
#include "wire/frames.h"

#include <stdlib.h>
#include <string.h>

static void put_hello(struct frames *to, const struct model *m)
{
	const struct program *p = &m->program;
	const uint64_t figures[] = { MTW_VERSION,      p->features, p->pid,     p->uid,
				     p->start_unix_ns, m->time_ns,  p->tick_ns, p->word_bits };

	frames_put_all(to, figures, sizeof figures / sizeof *figures);
	frames_string(to, p->arch);
	frames_string(to, p->exe);
	frames_string(to, p->agent_version);
	frames_string(to, p->options);
	frames_put(to, p->arg_count);
	for (size_t i = 0; i < p->arg_count; i++)
		frames_string(to, p->args[i]);
	frames_put(to, p->forked);
	if (p->forked)
		frames_tally(to, &p->before);
	if (p->forked && p->inherits_apart)
		frames_put(to, p->first_epoch);
	frames_end(to, MTW_HELLO);
}

static void put_options(struct frames *to, const struct model *m, uint64_t until)
{
	for (size_t i = 0; i < m->options.count; i++) {
		frames_string(to, m->options.list[i].name);
		frames_string(to, m->options.list[i].value);
		frames_string(to, m->options.list[i].who);
		frames_end(to, MTW_OPTION);
	}
	for (size_t i = 0; i < m->filters.count && m->filters.list[i].since_ns <= until; i++) {
		const struct recorded *f = &m->filters.list[i];
		const uint64_t figures[] = { i,           f->since_ns, f->sample,
					     f->min_size, f->max_size, f->merge };
		frames_put_all(to, figures, sizeof figures / sizeof *figures);
		frames_string(to, f->libs);
		frames_string(to, f->exclude);
		frames_string(to, f->who);
		frames_end(to, MTW_FILTER);
	}
}

/* A new field belongs here, too. */
_Static_assert(sizeof(struct totals) == 18 * sizeof(uint64_t), "put_totals() writes all fields");

static void put_totals(struct frames *to, const struct totals *t)
{
	const uint64_t figures[] = {
		t->peak_bytes,   t->peak_error_bytes, t->peak_time_ns,      t->agent_memory_bytes,
		t->agent_cpu_ns, t->hook_ns,          t->target_cpu_ns,     t->slots_total,
		t->slots_sent,   t->live_sent_bytes,  t->agent_limit_bytes, t->hook_error_ns,
		t->walked
	};

	frames_put(to, t->time_ns);
	frames_tally(to, &t->sum);
	frames_put_all(to, figures, sizeof figures / sizeof *figures);
	frames_end(to, MTW_TOTALS);
}

static void put_state(struct frames *to, const struct model *m)
{
	if (m->state == MTW_LINK_LOST || m->state == MTW_CUT)
		return; /* a viewer's own */
	frames_put(to, m->state);
	frames_put(to, (uint32_t)m->status);
	frames_put(to, m->time_ns);
	frames_put(to, m->status_known);
	frames_end(to, MTW_STATE);
}

static void put_figures(struct frames *to, const struct model *m)
{
	const struct figures *f = &m->figures;
	const struct effort *e = &f->effort;

	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		frames_put(to, i);
		frames_put(to, f->loss_events[i]);
		frames_put(to, f->loss_bytes[i]);
		frames_end(to, MTW_LOSS);
	}
	frames_put(to, f->rss);
	frames_put(to, f->virt);
	frames_put(to, f->process_threads);
	frames_put(to, f->process_children);
	frames_end(to, MTW_PROCESS);
	frames_put(to, e->allocations);
	frames_put(to, e->captures);
	frames_put(to, e->whole);
	frames_put(to, e->frames);
	frames_put(to, e->pc_misses);
	frames_put(to, e->edge_misses);
	frames_end(to, MTW_STACKS);
	frames_put(to, f->part_count);
	for (size_t i = 0; i < f->part_count; i++) {
		frames_string(to, f->parts[i].name);
		frames_put(to, f->parts[i].bytes);
	}
	frames_end(to, MTW_MEMORY);
}

/* Those that `has`, NULL = none, lacks; when one goes, the session says. */
static void put_modules(struct frames *to, const struct modules *x, const struct modules *has)
{
	for (uint32_t id = 0; id < x->count; id++) {
		const struct module *k = &x->list[id];
		if (!k->known || (has && modules_know(has, id)))
			continue;
		const uint64_t figures[] = {
			id,
			has ? k->flags & ~(uint32_t)MTW_MODULE_GONE : k->flags,
			k->bias,
			k->start,
			k->end,
			k->loaded_ns,
			has ? 0 : k->unloaded_ns,
		};
		frames_put_all(to, figures, sizeof figures / sizeof *figures);
		frames_bytes(to, k->build_id, k->build_id_len);
		frames_string(to, k->path);
		frames_end(to, MTW_MODULE);
	}
}

static void put_paths(struct frames *to, const struct model *m, const struct skeleton *s)
{
	for (uint32_t a = 1; a < s->nodes; a++) {
		uint32_t n = s->node_of[a];
		const struct location *at = model_location(m, s->location[n]);
		frames_node(to, s->id[n], at->kind, s->id[s->parent[n]], at->module, at->offset);
	}
	frames_rest(to, MTW_NODES);
	for (uint32_t a = 1; a < s->nodes; a++) {
		if (!bit_of(s->by_pointer_bits, s->node_of[a]))
			continue;
		frames_entry(to, s->id[s->node_of[a]]);
		frames_value(to, MTW_BY_POINTER);
		if (frames_full(to))
			frames_list(to, MTW_PROVEN);
	}
	frames_rest(to, MTW_PROVEN);
}

static void put_slots(struct frames *to, const struct columns *c, const uint32_t *ids)
{
	const struct skeleton *s = c->skeleton;

	for (uint32_t a = 0; a < c->slots->count; a++)
		frames_slot(to, ids[a], s->id[s->node_of_stack[c->slots->stack[a]]],
			    c->slots->epoch[a]);
	frames_rest(to, MTW_SLOTS);
}

static void put_weighed(struct frames *to, const struct columns *c, const uint32_t *ids)
{
	for (uint32_t a = 0; a < c->slots->count; a++)
		if (bit_of(c->sampled_bits, a))
			frames_weighed(to, ids[a]);
	frames_rest(to, MTW_WEIGHED);
}

static void put_counts(struct frames *to, const struct columns *c, const uint32_t *ids)
{
	for (uint32_t a = 0; a < c->slots->count; a++) {
		struct tally now = columns_now(c, a);
		if (now.alloc_blocks | now.alloc_bytes)
			frames_counts(to, ids[a], &now);
	}
	frames_rest(to, MTW_COUNTS);
}

static void put_threads(struct frames *to, const struct model *m)
{
	for (size_t i = 0; i < m->threads.count; i++) {
		const struct thread *t = &m->threads.list[i];
		if (!t->known)
			continue;
		frames_put(to, i);
		frames_put(to, t->tid);
		frames_put(to, t->ended);
		frames_string(to, t->name);
		frames_tally(to, &t->done);
		frames_end(to, MTW_THREAD);
	}
	frames_put(to, m->threads.scan_request);
	for (size_t i = 0; i < m->threads.count; i++) {
		const struct thread *t = &m->threads.list[i];
		if (!(t->live_blocks | t->live_bytes))
			continue;
		frames_value(to, i);
		frames_value(to, t->live_blocks);
		frames_value(to, t->live_bytes);
		frames_point(to);
	}
	frames_list(to, MTW_SCAN_THREADS);
}

/* Those that `has`, NULL = none, lacks: they may have arrived after the tick that it is of. */
static void put_marks(struct frames *to, const struct marks *x, uint64_t until,
		      const struct marks *has, const struct columns *c)
{
	for (uint32_t id = 1; id < x->limit; id++) {
		const struct mark *k = &x->list[id];
		if (!k->known || k->time_ns > until || (has && marks_known(has, id)))
			continue;
		frames_put(to, id);
		frames_put(to, k->epoch);
		frames_put(to, k->flags);
		frames_put(to, k->time_ns);
		frames_string(to, k->name);
		frames_string(to, k->set_by);
		frames_tally(to, &k->totals);
		frames_put(to, k->rss_bytes);
		frames_end(to, MTW_MARK);
	}
	for (uint32_t id = 1; id < x->limit; id++)
		if (x->list[id].known && x->list[id].live_known && x->list[id].time_ns <= until &&
		    !(has && marks_known(has, id) && has->list[id].live_known))
			cells_write(&x->list[id].cells, to, MTW_MARK_LIVE, id, true, c);
}

static void put_samples(struct frames *to, const struct samples *x, uint64_t until,
			const struct columns *c)
{
	if (!x->told)
		return;
	frames_put(to, x->totals_only ? MTW_SAMPLES_TOTALS_ONLY : 0);
	for (size_t i = 0; i < x->count && x->list[i].f.time_ns <= until; i++) {
		const struct sample_figures *f = &x->list[i].f;
		frames_entry(to, f->serial);
		frames_value(to, f->time_ns);
		frames_value(to, f->live_bytes);
		frames_value(to, f->low_bytes);
		frames_value(to, f->fall_bytes);
		frames_value(to, f->rss_bytes);
	}
	frames_list(to, MTW_SAMPLES);
	for (size_t i = 0; i < x->count && x->list[i].f.time_ns <= until; i++)
		if (x->list[i].whole)
			cells_write(&x->list[i].cells, to, MTW_SAMPLE_LIVE, x->list[i].f.serial,
				    true, c);
}

static void put_stops(struct frames *to, const struct stops *x)
{
	if (!x->count && !x->slept_ns)
		return;
	frames_put(to, x->slept_ns);
	frames_put(to, x->slept_at_ns);
	for (size_t i = 0; i < x->count; i++) {
		const struct stop *p = &x->list[i];
		frames_value(to, p->begin_ns);
		frames_value(to, p->end_ns == UINT64_MAX ? 0 : p->end_ns);
		frames_value(to, p->stopped_ns);
		frames_value(to, p->times);
		frames_value(to, p->why);
		frames_value(to, p->pid);
		frames_text(to, p->name);
		frames_point(to);
	}
	frames_list(to, MTW_STOPS);
}

static void put_peak(struct frames *to, const struct model *m, const struct columns *c,
		     const uint32_t *ids)
{
	uint32_t flags = MTW_PART_FIRST;
	struct peak_at at = { 0 };
	struct peak_cell cell;
	bool more = peak_next(&c->peak, &at, &cell);

	while (m->peak.whole && !(flags & MTW_PART_LAST)) {
		for (; more && !frames_full(to); more = peak_next(&c->peak, &at, &cell)) {
			if (!(cell.then.alloc_blocks | cell.then.alloc_bytes))
				continue;
			frames_counters(to, ids[cell.slot], &cell.then);
		}
		flags |= more ? 0 : MTW_PART_LAST;
		frames_put(to, m->peak.serial);
		frames_put(to, flags);
		frames_put(to, m->peak.at.time_ns);
		frames_tally(to, &m->peak.at.sum);
		frames_list(to, MTW_PEAK);
		flags &= ~MTW_PART_FIRST;
	}
}

/* as many as a reader takes */
#define NAMED_MAX (MTW_RSS_PARTS_MAX - MTW_MEMORY_COUNT)

static void put_rss(struct frames *to, const struct rss_answers *x, size_t i)
{
	struct rss left = x->list[i];

	frames_put(to, 1);
	frames_put(to, left.time_ns);
	for (size_t k = 0; i + 1 == x->count && k < x->named_count && k < NAMED_MAX; k++) {
		const struct rss_named *n = &x->named[k];
		frames_value(to, n->what);
		frames_text(to, n->name);
		frames_value(to, n->bytes);
		frames_value(to, n->mappings);
		left.bytes[n->what] -= n->bytes;
		left.mappings[n->what] -= n->mappings;
		frames_point(to);
	}
	for (unsigned what = 0; what < MTW_MEMORY_COUNT; what++) {
		frames_value(to, what);
		frames_text(to, "");
		frames_value(to, left.bytes[what]);
		frames_value(to, left.mappings[what]);
		frames_point(to);
	}
	frames_list(to, MTW_SCAN_MEMORY);
}

static void put_age_cells(struct frames *to, const struct age_cell *list, size_t count)
{
	frames_put(to, count);
	for (size_t i = 0; i < count; i++) {
		frames_put(to, list[i].key);
		frames_put(to, list[i].blocks);
		frames_put(to, list[i].bytes);
	}
}

static void put_cohorts(struct frames *to, const struct cohorts *c)
{
	uint32_t flags = MTW_PART_FIRST;
	struct cohort_at at = { 0 };
	struct cohort x;

	while (!(flags & MTW_PART_LAST)) {
		while (!frames_full(to) && cohorts_next(c, &at, &x)) {
			frames_entry(to, x.slot);
			frames_value(to, x.thread);
			frames_value(to, x.age_s);
			frames_value(to, x.blocks);
			frames_value(to, x.bytes);
		}
		flags |= at.at == c->len ? MTW_PART_LAST : 0;
		frames_put(to, 1);
		frames_put(to, flags);
		frames_put(to, c->time_ns);
		frames_put(to, c->left_blocks);
		frames_put(to, c->left_bytes);
		frames_list(to, MTW_SCAN_COHORTS);
		flags &= ~MTW_PART_FIRST;
	}
}

static void put_scans(struct frames *to, const struct model *m)
{
	const struct scan_ages *a = &m->ages.now;

	for (size_t i = 0; i < m->rss.count; i++)
		put_rss(to, &m->rss, i);
	if (m->ages.known) {
		frames_put(to, a->request);
		frames_put(to, a->blocks);
		frames_put(to, a->bytes);
		put_age_cells(to, a->births, a->birth_count);
		put_age_cells(to, a->sizes, a->size_count);
		put_age_cells(to, a->threads, a->thread_count);
		frames_end(to, MTW_SCAN_AGES);
	}
	if (m->cohorts.whole)
		put_cohorts(to, &m->cohorts.now);
}

static void put_point(struct frames *to, const struct point *p,
		      void (*put)(struct frames *, uint64_t))
{
	put(to, p->time_ns);
	put(to, p->live_bytes);
	put(to, p->live_blocks);
	put(to, p->alloc_bytes);
	put(to, p->alloc_blocks);
	put(to, p->free_blocks);
	put(to, p->rss_bytes);
}

static void put_series(struct frames *to, const struct series *s, uint64_t until)
{
	size_t end = 0, agents;

	while (end < s->count && s->points[end].time_ns <= until)
		end++;
	agents = end < s->from_agent ? end : s->from_agent;
	if (agents) {
		frames_put(to, 0);
		frames_put(to, s->owner_count);
		for (size_t i = 0; i < s->owner_count; i++)
			frames_put(to, s->owners[i]);
		frames_put(to, agents);
		for (size_t i = 0; i < agents; i++) {
			put_point(to, &s->points[i], frames_put);
			for (size_t k = 0; k < s->owner_count; k++)
				frames_put(to, s->owner_bytes[i][k]);
		}
		frames_end(to, MTW_HISTORY);
	}
	frames_put(to, s->spacing_ns);
	for (size_t i = agents; i < end; i++) {
		put_point(to, &s->points[i], frames_value);
		frames_point(to);
	}
	frames_list(to, MTW_S_POINTS);
}

static void put_instants(struct frames *to, const struct instants *x)
{
	struct instant before = { 0 };

	for (size_t i = 0; i < x->count; i++) {
		frames_value(to, x->list[i].time_ns - before.time_ns);
		frames_value(to, x->list[i].ticks - before.ticks);
		before = x->list[i];
		frames_point(to);
		if (!frames_full(to))
			continue;
		frames_list(to, MTW_S_INSTANTS);
		before = (struct instant){ 0 };
	}
	frames_rest(to, MTW_S_INSTANTS);
}

static void put_window_threads(struct frames *to, const struct model *m, const struct rate_part *p)
{
	for (size_t i = 0; i < p->thread_count; i++) {
		struct rate now = thread_done(&m->threads, (uint32_t)i), *then = &p->threads[i];
		if (!memcmp(&now, then, sizeof now))
			continue;
		frames_value(to, i);
		frames_value(to, then->blocks);
		frames_value(to, then->bytes);
		frames_value(to, then->freed);
		frames_point(to);
	}
	if (p->threads)
		frames_list(to, MTW_S_WINDOW_THREADS);
}

static void put_window(struct frames *to, const struct model *m, const struct columns *c,
		       const uint32_t *ids)
{
	for (size_t i = 0; i < m->rates.count; i++) {
		const struct rate_part *head = rates_part(&m->rates, i);
		const struct window_part *p = window_part(&c->window, (uint32_t)i);
		struct window_at at = { 0 };
		struct rate_entry e;
		bool first = true, more = window_next(p, &at, &e);
		do {
			frames_put(to, head->begin_ns);
			frames_tally(to, &head->before);
			frames_put(to, !first);
			for (; more && !frames_full(to);
			     more = window_next(p, &at, &e), frames_point(to)) {
				frames_value(to, ids[e.slot]);
				frames_value(to, e.blocks);
				frames_value(to, e.bytes);
				frames_value(to, e.freed);
			}
			frames_list(to, MTW_S_WINDOW);
			first = false;
		} while (more);
		put_window_threads(to, m, head);
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
	return m->hello && m->complete && !m->resuming && !m->mid_tick && !m->totals_pending &&
	       is_whole(m) && maker_settled((struct model *)m);
}

/* What is of an instant up to `until` when it is of this one. Slots are there. */
static void put_known(struct frames *to, const struct model *m, const struct columns *c,
		      const uint32_t *ids, uint64_t until)
{
	struct stops stops = stops_up_to(&m->stops, until);

	put_options(to, m, until);
	put_weighed(to, c, ids);
	put_series(to, &m->history.series, until);
	put_stops(to, &stops);
	put_samples(to, &m->samples, until, c);
}

int model_dump(const struct model *m,
	       int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len), void *arg)
{
	struct frames f;
	const struct columns *c = model_columns(m);

	uint32_t *ids = slots_ids(c->slots);

	frames_init(&f, fn, arg);
	put_hello(&f, m);
	f.rc = f.rc ? f.rc : notices_write(&m->notices, fn, arg);
	put_state(&f, m);
	put_figures(&f, m);
	put_modules(&f, &m->modules, NULL);
	put_paths(&f, m, c->skeleton);
	put_slots(&f, c, ids);
	put_known(&f, m, c, ids, UINT64_MAX);
	put_instants(&f, &m->instants);
	put_marks(&f, &m->marks, UINT64_MAX, NULL, c);
	put_peak(&f, m, c, ids);
	put_threads(&f, m);
	put_scans(&f, m);
	put_window(&f, m, c, ids);
	put_counts(&f, c, ids);
	put_totals(&f, &m->totals);
	free(ids);
	frames_release(&f);
	return f.rc;
}

int dump_program(const struct model *m, const struct model *has, frames_fn fn, void *arg)
{
	struct frames f;

	frames_init(&f, fn, arg);
	if (m->hello && !has->hello)
		put_hello(&f, m);
	put_modules(&f, &m->modules, &has->modules);
	frames_release(&f);
	return f.rc;
}

int dump_past(const struct model *m, uint64_t until, const struct model *has, frames_fn fn,
	      void *arg)
{
	const struct columns *c = model_columns(m);
	uint32_t *ids = slots_ids(c->slots);
	struct frames f;

	frames_init(&f, fn, arg);
	if (!has->complete)
		put_known(&f, m, c, ids, until);
	put_marks(&f, &m->marks, until, &has->marks, c);
	free(ids);
	frames_release(&f);
	return f.rc;
}
