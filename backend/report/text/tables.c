/* SPDX-License-Identifier: MIT
 *
 * tables.c - see report/text/text.h. Every cut says what it left out, so that columns add
 * up.
 */
#include "report/text/text.h"

#include <stdlib.h>
#include <string.h>

void text_libraries(const struct page *p)
{
	const struct owner *list = NULL;
	size_t n = owners_update(p->report->owners, &list), shown = n < p->top ? n : p->top;
	struct more more = { 0 };

	page_title(p, "Memory by owner library (allocation wrappers skipped)");
	page_head(p, "LIBRARY");
	for (size_t i = 0; i < n; i++) {
		if (i >= shown) {
			more.bytes += live_bytes(&list[i].amounts.sum);
			more.estimate |= list[i].amounts.sampled != 0;
			continue;
		}
		page_row(p, &list[i].amounts.sum, list[i].amounts.sampled);
		if (p->holders.all)
			page_holders(p, holders_of_owner(&p->holders, &list[i]));
		page_name(p, list[i].name, page_name_columns(p));
		fputc('\n', p->out);
	}
	page_rest(p, n - shown, &more, "libraries");
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
static void site_details(const struct page *p, const struct site *s, const struct age *a)
{
	const char *slash = s->file ? strrchr(s->file, '/') : NULL;
	char median[32], oldest[32];

	fputs(p->options->full ? "" : "\n            ", p->out);
	if (s->caller && *s->caller) {
		fputs(" < ", p->out);
		page_name(p, s->caller, 40);
	}
	if (s->file) {
		fputs("  ", p->out);
		page_name(p, slash ? slash + 1 : s->file, 30);
		fprintf(p->out, ":%u", s->line);
	}
	if (s->owner) {
		fputs("  ", p->out);
		page_name(p, s->owner->name, 30);
	}
	if (live_bytes(&s->amounts.sum) && s->intervals)
		fprintf(p->out, "; %s", report_shape(s->shape));
	if (s->grew && s->shape != SHAPE_FLAT)
		fprintf(p->out, ", grew in %u of %u", s->grew, s->intervals);
	if (a->known)
		fprintf(p->out, "; age %s, oldest %s", span(median, sizeof median, a->median_s),
			span(oldest, sizeof oldest, a->oldest_s));
	fputs(s->flags & ROW_EXPECTED ? "  (expected)\n" : "\n", p->out);
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

void text_sites(const struct page *p)
{
	const struct site *list = NULL, **all;
	size_t n = query_sites(p->query, BY_LIVE, false, true, &list);
	size_t shown = n < p->top ? n : p->top;
	struct more more = { 0 };

	all = xcalloc(n, sizeof(const struct site *));
	for (size_t i = 0; i < n; i++)
		all[i] = &list[i];
	qsort(all, n, sizeof(const struct site *), compare_sites);
	struct age *ages = ages_of(p, all, shown);
	page_title(p, "Call sites, most live memory first");
	page_head(p, "CALL SITE < CALLER");
	for (size_t i = 0; i < n; i++) {
		if (i >= shown) {
			more.bytes += live_bytes(&all[i]->amounts.sum);
			more.estimate |= all[i]->amounts.sampled;
			continue;
		}
		page_row(p, &all[i]->amounts.sum, all[i]->amounts.sampled);
		if (p->holders.all)
			page_holders(p, holders_of_site(&p->holders, all[i]->leaf));
		page_name(p, all[i]->name ? all[i]->name : "?", page_name_columns(p));
		site_details(p, all[i], &ages[i]);
	}
	free(ages);
	free(all);
	page_rest(p, n - shown, &more, "call sites");
}

void text_cuts(const struct page *p)
{
	const struct report *r = p->report;
	char blocks[FORMAT_NUMBER], stacks[FORMAT_NUMBER];
	uint64_t more = 0;

	if (!r->cut_count)
		return;
	page_title(p, "Stacks that end early, by reason and the module of their last known frame");
	fprintf(p->out, "%10s  %9s   %s\n", "BLOCKS", "STACKS", "MODULE: REASON");
	for (size_t i = 0; i < r->cut_count; i++) {
		const struct cut *c = &r->cuts[i];

		if (i >= p->top) {
			more += c->blocks;
			continue;
		}
		fprintf(p->out, "%10s  %9s   ", format_count(blocks, c->blocks),
			format_count(stacks, c->stacks));
		const char *name = quality_module_name(r->model, c->module);
		page_put(p, name ? name : "[no frame]");
		fprintf(p->out, ": %s\n", report_truncation(c->reason));
	}
	if (r->cut_count > p->top)
		fprintf(p->out, "%10s  %9s   %s more\n", format_count(blocks, more), "...",
			format_count(stacks, r->cut_count - p->top));
}

void text_threads(const struct page *p)
{
	const struct model *m = p->report->model;
	char live[FORMAT_NUMBER];
	uint32_t limit = model_thread_count(m), shown = 0, known = 0;
	bool about = model_estimate(m); /* which threads were sampled is unknown */

	for (uint32_t i = 0; i < limit; i++)
		known += model_thread(m, i) && model_thread(m, i)->known;
	if (known < 2)
		return;
	page_title(p, "Threads, in the order they came");
	if (p->missing)
		fprintf(p->out, "%s\n", p->missing);
	page_head(p, "THREAD");
	for (uint32_t i = 0; i < limit && shown < p->top; i++) {
		const struct thread *t = model_thread(m, i);
		char blocks[FORMAT_NUMBER], alloc[FORMAT_NUMBER];

		if (!t || !t->known)
			continue;
		shown++;
		fprintf(p->out, "%10s  %9s %11s   ",
			p->missing ? "" : page_bytes(live, t->live_bytes, about),
			p->missing ? "" : page_count(blocks, t->live_blocks, about),
			page_bytes(alloc, t->done.alloc_bytes, about));
		page_put(p, t->name);
		fprintf(p->out, " [%u]%s\n", t->tid, t->ended ? "  ended" : "");
	}
	if (known > shown)
		fprintf(p->out, "%10s  %9s %11s   %u more thread%s\n", "", "", "...", known - shown,
			format_s(known - shown));
}

void text_marks(const struct page *p)
{
	const struct model *m = p->report->model;
	char live[FORMAT_NUMBER], blocks[FORMAT_NUMBER], number[16];
	bool titled = false;

	for (uint32_t id = 1; id < model_mark_limit(m); id++) {
		const struct mark *k = model_mark(m, id);

		if (!k || !k->known || (k->flags & MTW_MARK_DROPPED))
			continue;
		bool about = model_mark_estimate(m, id);
		if (!titled) {
			page_title(p, "Marks");
			fprintf(p->out, "%10s  %9s %11s   %s\n", "LIVE", "BLOCKS", "TIME", "MARK");
			titled = true;
		}
		fprintf(p->out, "%10s  %9s %9.1f s   m%u",
			page_bytes(live, live_bytes(&k->totals), about),
			page_count(blocks, live_blocks(&k->totals), about),
			(double)k->time_ns / 1e9, id);
		snprintf(number, sizeof number, "m%u", id);
		if (strcmp(number, k->name)) {
			fputc(' ', p->out);
			page_put(p, k->name);
		}
		fputs("  by ", p->out);
		page_put(p, k->set_by);
		fputc('\n', p->out);
	}
}
