/* SPDX-License-Identifier: MIT
 *
 * data.c - see report/html/data.h. Tables are lists of rows, and their columns are named in
 * html/tables.js; figures are raw numbers, which the page sorts and writes as memtop does.
 */
#include "report/html/data.h"

#include <stdlib.h>

#define CURVE_POINTS 1500 /* more than a screen has columns for */

static void put_tally(struct pack *out, const struct tally *t)
{
	pack_size(out, live_bytes(t));
	pack_size(out, live_blocks(t));
	pack_size(out, t->alloc_bytes);
	pack_size(out, t->alloc_blocks);
}

static void list_begin(struct pack *out, const char *key)
{
	pack_key(out, key);
	pack_open(out, '[');
}

static void put_size(struct pack *out, const char *key, uint64_t n)
{
	pack_key(out, key);
	pack_size(out, n);
}

/* past: the report is of an instant before the session's end. */
static void put_totals(const struct model *m, bool past, struct pack *out)
{
	const struct totals *t = model_totals(m);

	pack_key(out, "totals");
	pack_open(out, '{');
	put_size(out, "live_bytes", live_bytes(&t->sum));
	put_size(out, "live_blocks", live_blocks(&t->sum));
	put_size(out, "allocated_bytes", t->sum.alloc_bytes);
	put_size(out, "allocated_blocks", t->sum.alloc_blocks);
	put_size(out, "peak_bytes", t->peak_bytes);
	pack_key(out, "peak_s");
	pack_seconds(out, t->peak_time_ns);
	pack_key(out, "time_s");
	pack_seconds(out, model_time(m));
	pack_key(out, "estimate");
	pack_flag(out, model_estimate(m));
	pack_key(out, "past");
	pack_flag(out, past);
	pack_close(out, '}');
}

static size_t curve_step(size_t count)
{
	return (count + CURVE_POINTS - 1) / CURVE_POINTS;
}

static bool on_curve(size_t i, size_t count)
{
	return !i || i + 1 == count || i % curve_step(count) == 0;
}

static uint64_t of_point(const struct point *p, unsigned column)
{
	switch (column) {
	case 0: return p->time_ns / 1000000;
	case 1: return p->live_bytes;
	case 2: return p->live_blocks;
	default: return p->rss_bytes;
	}
}

static void put_timeline(const struct model *m, struct pack *out)
{
	static const char *const columns[] = { "time_ms", "live_bytes", "live_blocks",
					       "rss_bytes" };
	const struct point *points = NULL;
	size_t n = model_history(m, &points);

	pack_key(out, "timeline");
	pack_open(out, '{');
	for (unsigned c = 0; c < sizeof columns / sizeof *columns; c++) {
		list_begin(out, columns[c]);
		for (size_t i = 0; i < n; i++)
			if (on_curve(i, n))
				pack_size(out, of_point(&points[i], c));
		pack_close(out, ']');
	}
	pack_close(out, '}');
}

/* Do the owners hold nearly all of the point's memory? In a program's first moments the agent has
 * met few of them. */
static bool owners_cover(const struct point *p, const uint64_t *bytes, size_t count)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < count; k++)
		sum += bytes[k];
	return sum >= p->live_bytes - p->live_bytes / 20;
}

/* What the agent itself remembers of its largest owners, before memtop came. Other owners are left
 * out, and nothing is interpolated. */
static void put_owner_history(struct report *r, const struct html_tree *t, struct pack *out)
{
	const struct point *points = NULL;
	const uint32_t *modules = NULL;
	size_t n = model_history(r->model, &points);
	size_t count = model_history_owners(r->model, &modules);

	pack_key(out, "owner_history");
	pack_open(out, '{');
	list_begin(out, "owner");
	for (size_t k = 0; k < count; k++)
		pack_number(out, html_tree_owner(t, modules[k]));
	pack_close(out, ']');
	list_begin(out, "points");
	for (size_t i = 0; i < n; i++) {
		const uint64_t *bytes = model_history_owner_bytes(r->model, i);

		if (!bytes || !on_curve(i, n) || !owners_cover(&points[i], bytes, count))
			continue;
		pack_open(out, '[');
		pack_size(out, points[i].time_ns / 1000000);
		for (size_t k = 0; k < count; k++)
			pack_size(out, bytes[k]);
		pack_close(out, ']');
	}
	pack_close(out, ']');
	pack_close(out, '}');
}

static void put_marks(const struct model *m, struct pack *out)
{
	list_begin(out, "marks");
	for (uint32_t id = 1; id < model_mark_limit(m); id++) {
		const struct mark *k = model_mark(m, id);

		if (!k || !k->known || (k->flags & MTW_MARK_DROPPED))
			continue;
		pack_open(out, '[');
		pack_size(out, id);
		pack_text(out, k->name);
		pack_text(out, k->set_by);
		pack_seconds(out, k->time_ns);
		pack_size(out, live_bytes(&k->totals));
		pack_size(out, live_blocks(&k->totals));
		pack_size(out, k->rss_bytes);
		pack_flag(out, model_mark_says(m, id));
		pack_flag(out, model_mark_estimate(m, id));
		pack_close(out, ']');
	}
	pack_close(out, ']');
}

static void put_samples(const struct model *m, struct pack *out)
{
	const struct sample *list = NULL;
	size_t n = model_samples_by_slot(m) ? model_samples(m, &list) : 0;

	list_begin(out, "samples");
	for (size_t i = 0; i < n; i++) {
		pack_open(out, '[');
		pack_size(out, list[i].f.serial);
		pack_seconds(out, list[i].f.time_ns);
		pack_size(out, list[i].f.live_bytes);
		pack_close(out, ']');
	}
	pack_close(out, ']');
}

/* The change that --since or --between chose: marks' ids, 0 = start, now. */
static void put_chosen(const struct report_options *o, struct pack *out)
{
	pack_key(out, "chosen");
	if (!o->changes) {
		pack_null(out);
		return;
	}
	pack_open(out, '[');
	pack_size(out, o->from);
	pack_size(out, o->to);
	pack_close(out, ']');
}

static void put_owners(struct report *r, struct pack *out)
{
	const struct owner *list = NULL;
	size_t n = owners_update(r->owners, &list);

	list_begin(out, "owners");
	for (size_t i = 0; i < n; i++) {
		pack_open(out, '[');
		pack_text(out, list[i].name);
		put_tally(out, &list[i].amounts.sum);
		pack_flag(out, list[i].amounts.sampled != 0);
		pack_close(out, ']');
	}
	pack_close(out, ']');
}

static void put_site(const struct html_tree *t, const struct site *s, const struct age *age,
		     struct pack *out)
{
	pack_open(out, '[');
	pack_text(out, s->name);
	pack_text(out, s->caller);
	pack_text(out, s->file);
	pack_size(out, s->line);
	pack_number(out, s->owner ? html_tree_owner(t, s->owner->module) : -1);
	put_tally(out, &s->amounts.sum);
	pack_size(out, s->stacks);
	pack_text(out, report_shape(s->shape));
	pack_number(out, s->net_per_min);
	pack_number(out, age->known ? (int64_t)age->median_s : -1);
	pack_number(out, age->known ? (int64_t)age->oldest_s : -1);
	pack_flag(out, (s->flags & ROW_EXPECTED) != 0);
	pack_flag(out, s->amounts.sampled);
	pack_size(out, s->id);
	pack_close(out, ']');
}

static void put_sites(struct query *q, const struct html_tree *t, struct pack *out)
{
	const struct site *list = NULL;
	size_t n = query_sites(q, BY_LIVE, false, true, &list);
	uint32_t *ids = xcalloc(n + 1, sizeof *ids);
	struct age *ages = xcalloc(n + 1, sizeof *ages);

	for (size_t i = 0; i < n; i++)
		ids[i] = list[i].id;
	query_ages(q, true, ids, n, ages);
	n = query_sites(q, BY_LIVE, false, false, &list);
	list_begin(out, "sites");
	for (size_t i = 0; i < n; i++)
		put_site(t, &list[i], &ages[i], out);
	pack_close(out, ']');
	free(ids);
	free(ages);
}

static void put_threads(const struct model *m, struct pack *out)
{
	bool looked = model_looked(m, MTW_KIND_THREADS) != 0;

	list_begin(out, "threads");
	for (uint32_t i = 0; i < model_thread_count(m); i++) {
		const struct thread *t = model_thread(m, i);

		if (!t || !t->known)
			continue;
		pack_open(out, '[');
		pack_text(out, t->name);
		pack_size(out, t->tid);
		pack_number(out, looked ? (int64_t)t->live_bytes : -1);
		pack_number(out, looked ? (int64_t)t->live_blocks : -1);
		pack_size(out, t->done.alloc_bytes);
		pack_size(out, t->done.alloc_blocks);
		pack_flag(out, t->ended);
		pack_flag(out, model_estimate(m));
		pack_close(out, ']');
	}
	pack_close(out, ']');
}

static void put_part(struct pack *out, unsigned what, const char *name, uint64_t bytes,
		     uint64_t mappings)
{
	pack_open(out, '[');
	pack_text(out, report_memory(what));
	pack_text(out, name);
	pack_size(out, bytes);
	pack_size(out, mappings);
	pack_close(out, ']');
}

/* Parts without a name add up to the resident memory; the others are shares of them. */
static void put_resident(const struct model *m, struct pack *out)
{
	const struct rss *now = model_rss_newest(m);
	const struct rss_named *named;
	size_t n = now ? model_rss_named(m, &named) : 0;

	list_begin(out, "resident");
	for (unsigned i = 0; now && i < MTW_MEMORY_COUNT; i++)
		put_part(out, i, NULL, now->bytes[i], now->mappings[i]);
	for (size_t i = 0; i < n; i++)
		put_part(out, named[i].what, named[i].name, named[i].bytes, named[i].mappings);
	pack_close(out, ']');
	pack_key(out, "resident_s");
	if (now)
		pack_seconds(out, now->time_ns);
	else
		pack_null(out);
}

static void put_processes(const struct report_options *o, struct pack *out)
{
	const struct process **sorted = NULL;
	size_t n = o->processes && processes_count(o->processes) > 1
			   ? report_tree_sorted(o->processes, &sorted)
			   : 0;

	list_begin(out, "processes");
	for (size_t i = 0; i < n; i++) {
		const struct process *p = sorted[i];
		bool known = p->state != PROCESS_UNFOLLOWED;

		pack_open(out, '[');
		pack_text(out, p->name);
		pack_number(out, p->pid);
		pack_number(out, known ? (int64_t)p->live_bytes : -1);
		pack_number(out, known ? (int64_t)process_allocated(p) : -1);
		pack_number(out, known ? (int64_t)p->peak_bytes : -1);
		pack_text(out, p->why);
		pack_flag(out, p->id == o->process);
		pack_close(out, ']');
	}
	pack_close(out, ']');
	free(sorted);
}

static void put_missing(const struct watch *w, struct pack *out)
{
	const char *why[REPORT_LOOKS];
	size_t n = report_not_known(w, why);

	list_begin(out, "not_known");
	for (size_t i = 0; i < n; i++)
		pack_text(out, why[i]);
	pack_close(out, ']');
}

void html_data_put(struct report *r, struct watch *w, struct query *q, const struct html_tree *t,
		   const struct report_options *o, struct pack *out)
{
	const struct model *m = r->model;

	pack_open(out, '{');
	put_totals(m, watch_instant(w) != 0, out);
	put_timeline(m, out);
	put_owner_history(r, t, out);
	put_marks(m, out);
	put_samples(m, out);
	put_chosen(o, out);
	html_tree_put(t, out);
	html_tree_put_instants(t, out);
	put_owners(r, out);
	put_sites(q, t, out);
	put_threads(m, out);
	put_resident(m, out);
	put_processes(o, out);
	put_missing(w, out);
	pack_close(out, '}');
}
