/* SPDX-License-Identifier: MIT
 *
 * html.c - the report as one page that needs no network and works from a mail: the answer as plain
 * text first, then the data, then the script that draws it.
 */
#include "report/html/data.h"
#include "report/html/page.h"

#include "base/format.h"

#include <stdlib.h>
#include <time.h>

struct page {
	FILE *out;
	struct report *report;
	struct query *query;
	struct watch *watch;
	bool about; /* figures are estimates */
};

static void put(const struct page *p, const char *s)
{
	fputs(s, p->out);
}

static void put_text(const struct page *p, const char *s)
{
	html_text(p->out, s);
}

static const char *bytes_text(const struct page *p, char buf[FORMAT_NUMBER + 1], uint64_t bytes)
{
	char n[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER + 1, "%s%s", bytes && p->about ? "~" : "",
		 format_bytes(n, bytes));
	return buf;
}

static void put_bytes(const struct page *p, uint64_t bytes)
{
	char n[FORMAT_NUMBER + 1];

	put(p, bytes_text(p, n, bytes));
}

/* "2026-11-23 00:24:08 UTC": when the program began, the one time that a session keeps; "" =
 * unknown. */
static const char *date_text(const struct page *p, char stamp[64])
{
	const struct program *g = model_program(p->report->model);
	time_t s = (time_t)(g->start_unix_ns / 1000000000);
	struct tm tm;

	if (!g->start_unix_ns || !gmtime_r(&s, &tm) ||
	    !strftime(stamp, 64, "%Y-%m-%d %H:%M:%S UTC", &tm))
		stamp[0] = '\0';
	return stamp;
}

static const char *name_of(const struct page *p)
{
	const struct program *g = model_program(p->report->model);

	return *g->name ? g->name : "?";
}

static void begin_page(const struct page *p)
{
	const struct model *m = p->report->model;
	const struct totals *t = model_totals(m);
	char live[FORMAT_NUMBER + 1], peak[FORMAT_NUMBER + 1], date[64];
	char *title = xasprintf("%s [%u]: %s live, peak %s, %s", name_of(p), p->report->pid,
				bytes_text(p, live, live_bytes(&t->sum)),
				bytes_text(p, peak, t->peak_bytes), date_text(p, date));

	html_page_begin(p->out, title);
	free(title);
}

static void put_end(const struct page *p)
{
	const struct model *m = p->report->model;
	char end[REPORT_END];

	fprintf(p->out, "%s after %.1f s", report_end(m, end), (double)model_time(m) / 1e9);
}

static void put_command(const struct page *p)
{
	const struct program *g = model_program(p->report->model);

	put(p, "<p class=\"command\">");
	for (size_t i = 0; i < g->arg_count; i++) {
		put(p, i ? " " : "");
		put_text(p, g->args[i]);
	}
	put(p, "</p>\n");
}

static void put_verdict(const struct page *p)
{
	struct verdict v;

	query_verdict(p->query, &v);
	put(p, "<p class=\"verdict\" id=\"verdict\" data-word=\"");
	put_text(p, v.growth_word);
	put(p, "\">");
	put_text(p, v.text);
	put(p, "</p>\n");
}

/* One amount; `more`: the line below it. */
static void put_figure(const struct page *p, const char *name, uint64_t bytes, const char *more)
{
	fprintf(p->out, "<div><dt>%s</dt><dd>", name);
	put_bytes(p, bytes);
	fprintf(p->out, "</dd><dd class=\"more\">%s</dd></div>\n", more);
}

static void put_amount(const struct page *p, const char *name, uint64_t bytes, uint64_t blocks)
{
	char n[FORMAT_NUMBER], more[FORMAT_NUMBER + 16];

	snprintf(more, sizeof more, "%s%s block%s", blocks && p->about ? "~" : "",
		 format_count(n, blocks), format_s(blocks));
	put_figure(p, name, bytes, more);
}

static void put_totals(const struct page *p)
{
	const struct totals *t = model_totals(p->report->model);
	struct page exact = *p;
	uint64_t rss, virt;
	uint32_t threads, children;
	char more[64];

	put(p, "<dl class=\"totals\">\n");
	put_amount(p, "Live", live_bytes(&t->sum), live_blocks(&t->sum));
	snprintf(more, sizeof more, "at %.1f s", (double)t->peak_time_ns / 1e9);
	put_figure(p, "Peak", t->peak_bytes, more);
	put_amount(p, "Allocated", t->sum.alloc_bytes, t->sum.alloc_blocks);
	put_amount(p, "Freed", t->sum.free_bytes, t->sum.free_blocks);
	exact.about = false;
	if (model_process(p->report->model, &rss, &virt, &threads, &children) && rss)
		put_figure(&exact, "Resident", rss, "RSS, last seen");
	put(p, "</dl>\n");
}

static void put_warnings(const struct page *p)
{
	const struct report *r = p->report;

	if (!r->warning_count)
		return;
	fprintf(p->out, "<details class=\"warnings\"%s><summary>%zu warning%s</summary><ul>\n",
		r->warning_count < 4 ? " open" : "", r->warning_count, format_s(r->warning_count));
	for (size_t i = 0; i < r->warning_count; i++) {
		put(p, "<li>");
		put_text(p, r->warnings[i]);
		put(p, "</li>\n");
	}
	put(p, "</ul></details>\n");
}

static void put_answer(struct page *p)
{
	char pid[REPORT_PID];

	put(p, "<header>\n<h1>");
	put_text(p, name_of(p));
	fprintf(p->out, " <small>[%s] ", report_pid(p->report->pid, p->report->inner_pid, pid));
	put_end(p);
	put(p, "</small></h1>\n");
	put_command(p);
	put(p, "<p class=\"date\">started ");
	put(p, date_text(p, (char[64]){ 0 }));
	put(p, "</p>\n</header>\n");
	put_verdict(p);
	put_totals(p);
	put_warnings(p);
}

static int write_page(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
		      struct err *err)
{
	struct report *r = report_new(w);
	struct page p = { out, r, q, w, model_estimate(r->model) };
	struct report_stack *changed = NULL;
	size_t count;
	int rc = -1;

	if (o->from >= MTW_MARKS_MAX || o->to >= MTW_MARKS_MAX) {
		err_set(err, 2,
			"html: has the stacks of its marks, samples and the peak alone; choose two "
			"of them in the page, or another format");
		goto out;
	}
	/* refuses a mark without stacks, as the other formats do */
	if (o->changes && !(changed = report_changes(r, o, &count, err)))
		goto out;
	begin_page(&p);
	put_answer(&p);
	const struct site *sites;
	query_sites(q, BY_LIVE, false, true, &sites);
	struct html_tree *t = html_tree_new(r, q);
	struct pack *data = html_page_data(out);
	html_data_put(r, w, q, t, o, data);
	html_tree_free(t);
	html_page_end(out, data);
	rc = report_flush(out, err);
out:
	free(changed);
	report_free(r);
	return rc;
}

const struct report_format report_html = {
	.name = "html",
	.ending = ".html",
	.write = write_page,
	.about = "a page to mail: curve, flame graph, tables",
};
