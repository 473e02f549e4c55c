/* SPDX-License-Identifier: MIT
 *
 * tables.c - see report/text/text.h. Every cut says what it left out, so that columns add
 * up.
 */
#include "report/text/text.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* Did it hold anything since the base of a change? Without one, each row counts. */
static bool counts(const struct page *p, const struct tally *sum, const struct map *changed,
		   uint64_t key)
{
	return !p->changed || live_blocks(sum) || map_get(changed, key, 0);
}

void text_libraries(const struct page *p)
{
	const struct owner *list = NULL;
	size_t n = owners_update(p->report->owners, &list), shown = 0, empty = 0;
	struct more more = { 0 };
	struct map changed = { 0 };
	struct listing *t = page_listing(
		p, (const char *const[]){ "LIVE", "BLOCKS", "ALLOCATED", "LIBRARY" }, true);

	for (size_t i = 0; i < p->changed_count; i++)
		map_set(&changed, report_owner(p->report, p->changed[i].stack)->module, 1);
	page_title(p, "Memory by owner library (allocation wrappers skipped)");
	for (size_t i = 0; i < n; i++) {
		if (!counts(p, &list[i].amounts.sum, &changed, list[i].module)) {
			empty++;
			continue;
		}
		if (shown == p->top) {
			more.bytes += live_bytes(&list[i].amounts.sum);
			more.estimate |= list[i].amounts.sampled != 0;
			continue;
		}
		shown++;
		listing_row(t);
		page_amounts(t, &list[i].amounts.sum, list[i].amounts.sampled);
		if (p->holders.all)
			fprintf(listing_cell(t), "%zu", holders_of_owner(&p->holders, &list[i]));
		listing_name(t, list[i].name, NULL, NULL, 0);
	}
	page_rest(p, t, n - shown - empty, &more, "libraries");
	page_empty(p, t, empty);
	listing_end(t, p->out);
	map_release(&changed);
}

static const char *span(char *buf, size_t size, uint64_t seconds)
{
	if (seconds < 120)
		snprintf(buf, size, "%llu s", (unsigned long long)seconds);
	else if (seconds < 7200)
		snprintf(buf, size, "%llu min", (unsigned long long)seconds / 60);
	else
		snprintf(buf, size, "%llu h", (unsigned long long)seconds / 3600);
	return buf;
}

/* " < caller  file.c:12  owner; steady, grew in 3 of 3; age 12 s, oldest 3 min", on a line of its
 * own unless lines may be long. */
static void site_details(const struct page *p, const struct site *s, const struct age *a, FILE *out)
{
	const char *slash = s->file ? strrchr(s->file, '/') : NULL;
	char median[32], oldest[32];

	if (s->caller && *s->caller) {
		fputs(" < ", out);
		page_name(p, out, s->caller, 40);
	}
	if (s->file) {
		fputs("  ", out);
		page_name(p, out, slash ? slash + 1 : s->file, 30);
		fprintf(out, ":%u", s->line);
	}
	if (s->owner) {
		fputs("  ", out);
		page_name(p, out, s->owner->name, 30);
	}
	if (live_bytes(&s->amounts.sum) && s->intervals)
		fprintf(out, "; %s", report_shape(s->shape));
	if (s->grew && s->shape != SHAPE_FLAT)
		fprintf(out, ", grew in %u of %u", s->grew, s->intervals);
	if (a->known)
		fprintf(out, "; age %s, oldest %s", span(median, sizeof median, a->median_s),
			span(oldest, sizeof oldest, a->oldest_s));
	fputs(s->flags & ROW_EXPECTED ? "  (expected)" : "", out);
}

static void put_site(const struct page *p, const struct site *s, const struct age *a,
		     struct listing *t)
{
	FILE *out;

	listing_row(t);
	page_amounts(t, &s->amounts.sum, s->amounts.sampled);
	if (p->holders.all)
		fprintf(listing_cell(t), "%zu", holders_of_site(&p->holders, s->leaf));
	out = listing_name(t, s->name ? s->name : "?", s->function, NULL, 0);
	if (!p->options->full) {
		out = listing_below(t);
		fputs("            ", out);
	}
	site_details(p, s, a, out);
	fputs(p->options->full ? "" : "\n", out);
}

/* For a program that freed everything, only its allocations tell. */
static int compare_sites(const void *a, const void *b)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;
	uint64_t x_live = live_bytes(&x->amounts.sum), y_live = live_bytes(&y->amounts.sum);

	if (x_live != y_live)
		return x_live < y_live ? 1 : -1;
	if (x->amounts.sum.alloc_bytes != y->amounts.sum.alloc_bytes)
		return x->amounts.sum.alloc_bytes < y->amounts.sum.alloc_bytes ? 1 : -1;
	return (x > y) - (x < y);
}

/* In the order of `all`; ages that no scan knows stay unknown. */
static struct age *ages_of(const struct page *p, const struct site **all, size_t n)
{
	struct age *ages = xcalloc(n + 1, sizeof *ages);
	uint32_t *ids = xcalloc(n + 1, sizeof *ids);

	for (size_t i = 0; i < n; i++)
		ids[i] = all[i]->id;
	query_ages(p->query, true, ids, n, ages);
	free(ids);
	return ages;
}

/* The sites that held something since the base of a change; without one, all. */
static size_t sites_that_held(const struct page *p, const struct site *list, size_t n,
			      const struct site **all)
{
	struct map changed = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < p->changed_count; i++)
		map_set(&changed, query_site_of(p->query, p->changed[i].leaf), 1);
	for (size_t i = 0; i < n; i++)
		if (counts(p, &list[i].amounts.sum, &changed, list[i].id))
			all[count++] = &list[i];
	map_release(&changed);
	return count;
}

void text_sites(const struct page *p)
{
	const struct site *list = NULL, **all;
	size_t count = query_sites(p->query, BY_LIVE, false, true, &list);
	struct more more = { 0 };

	all = xcalloc(count + 1, sizeof(const struct site *));
	size_t n = sites_that_held(p, list, count, all), shown = n < p->top ? n : p->top;
	qsort(all, n, sizeof(const struct site *), compare_sites);
	struct age *ages = ages_of(p, all, shown);
	struct listing *t = page_listing(
		p, (const char *const[]){ "LIVE", "BLOCKS", "ALLOCATED", "CALL SITE < CALLER" },
		true);
	page_title(p, "Call sites, most live memory first");
	for (size_t i = 0; i < n; i++) {
		if (i >= shown) {
			more.bytes += live_bytes(&all[i]->amounts.sum);
			more.estimate |= all[i]->amounts.sampled;
			continue;
		}
		put_site(p, all[i], &ages[i], t);
	}
	free(ages);
	free(all);
	page_rest(p, t, n - shown, &more, "call sites");
	page_empty(p, t, count - n);
	listing_end(t, p->out);
}

void text_cuts(const struct page *p)
{
	static const struct listing_column columns[] = {
		{ "BLOCKS", LISTING_RIGHT, 10, 0 },
		{ "STACKS", LISTING_RIGHT, 9, 2 },
		{ "MODULE: REASON", LISTING_LEFT, 0, 3 },
	};
	const struct report *r = p->report;
	char n[FORMAT_NUMBER];
	uint64_t more = 0;

	if (!r->cut_count)
		return;
	page_title(p, "Stacks that end early, by reason and the module of their last known frame");
	struct listing *t = listing_new(columns, 3, 0);
	for (size_t i = 0; i < r->cut_count; i++) {
		const struct cut *c = &r->cuts[i];
		const char *name = quality_module_name(r->model, c->module);

		if (i >= p->top) {
			more += c->blocks;
			continue;
		}
		listing_row(t);
		listing_put(t, format_count(n, c->blocks));
		listing_put(t, format_count(n, c->stacks));
		FILE *out = listing_cell(t);
		page_put(out, name ? name : "[no frame]");
		fprintf(out, ": %s", report_truncation(c->reason));
	}
	if (r->cut_count > p->top) {
		listing_row(t);
		listing_put(t, format_count(n, more));
		listing_put(t, "...");
		fprintf(listing_cell(t), "%s more", format_count(n, r->cut_count - p->top));
	}
	listing_end(t, p->out);
}

static void put_thread(const struct page *p, const struct thread *t, struct listing *l)
{
	bool about = model_estimate(p->report->model); /* which threads were sampled is unknown */
	char n[FORMAT_NUMBER];

	listing_row(l);
	listing_put(l, p->missing ? "" : page_bytes(n, t->live_bytes, about));
	listing_put(l, p->missing ? "" : page_count(n, t->live_blocks, about));
	listing_put(l, page_bytes(n, t->done.alloc_bytes, about));
	FILE *out = listing_cell(l);
	page_put(out, t->name);
	fprintf(out, " [%u]%s", t->tid, t->ended ? "  ended" : "");
}

void text_threads(const struct page *p)
{
	const struct model *m = p->report->model;
	uint32_t limit = model_thread_count(m), shown = 0, known = 0;

	for (uint32_t i = 0; i < limit; i++)
		known += model_thread(m, i) && model_thread(m, i)->known;
	if (known < 2)
		return;
	page_title(p, "Threads, in the order they came");
	if (p->missing)
		fprintf(p->out, "%s\n", p->missing);
	struct listing *l = page_listing(
		p, (const char *const[]){ "LIVE", "BLOCKS", "ALLOCATED", "THREAD" }, false);
	for (uint32_t i = 0; i < limit && shown < p->top; i++) {
		const struct thread *t = model_thread(m, i);

		if (!t || !t->known)
			continue;
		shown++;
		put_thread(p, t, l);
	}
	if (known > shown) {
		listing_row(l);
		listing_put(l, "");
		listing_put(l, "");
		listing_put(l, "...");
		fprintf(listing_cell(l), "%u more thread%s", known - shown,
			format_s(known - shown));
	}
	listing_end(l, p->out);
}

static void put_mark(const struct page *p, const struct mark *k, uint32_t id, struct listing *t)
{
	bool about = model_mark_estimate(p->report->model, id);
	char n[FORMAT_NUMBER], number[16];

	listing_row(t);
	listing_put(t, page_bytes(n, live_bytes(&k->totals), about));
	listing_put(t, page_count(n, live_blocks(&k->totals), about));
	fprintf(listing_cell(t), "%.1f s", (double)k->time_ns / 1e9);
	FILE *out = listing_cell(t);
	snprintf(number, sizeof number, "m%u", id);
	fputs(number, out);
	if (strcmp(number, k->name)) {
		fputc(' ', out);
		page_put(out, k->name);
	}
	fputs("  by ", out);
	page_put(out, k->set_by);
}

void text_marks(const struct page *p)
{
	const struct model *m = p->report->model;
	struct listing *t = NULL;

	for (uint32_t id = 1; id < model_mark_limit(m); id++) {
		const struct mark *k = model_mark(m, id);

		if (!k || !k->known || (k->flags & MTW_MARK_DROPPED))
			continue;
		if (!t) {
			page_title(p, "Marks");
			t = page_listing(p,
					 (const char *const[]){ "LIVE", "BLOCKS", "TIME", "MARK" },
					 false);
		}
		put_mark(p, k, id, t);
	}
	if (t)
		listing_end(t, p->out);
}
