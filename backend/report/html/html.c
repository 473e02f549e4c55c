/* SPDX-License-Identifier: MIT
 *
 * html.c - the report as one page that needs no network and works from a mail: the answer as plain
 * text first, then the data, then the script that draws it. html/ has the page's own sources; the
 * Makefile makes strings of them (html_parts.h).
 *
 * Names in it are anybody's: text is escaped, the data is in base64, and the page's policy runs the
 * one script and the styles whose hashes it has, and loads nothing.
 */
#include "report/html/data.h"

#include "base/sanitize.h"
#include "html_parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct page {
	FILE *out;
	struct report *report;
	struct query *query;
	struct watch *watch;
	bool about; /* figures are estimates */
};

/* --- text */

static void put(const struct page *p, const char *s)
{
	fputs(s, p->out);
}

/* Foreign text, cleaned and escaped. */
static void put_text(const struct page *p, const char *s)
{
	while (*s) {
		int32_t cp;
		size_t len = sanitize_char(s, &cp);

		switch (cp) {
		case FOREIGN_HIDDEN: break;
		case FOREIGN_BAD: put(p, "?"); break;
		case '<': put(p, "&lt;"); break;
		case '>': put(p, "&gt;"); break;
		case '&': put(p, "&amp;"); break;
		case '"': put(p, "&quot;"); break;
		case '\'': put(p, "&#39;"); break;
		default: fwrite(s, 1, len, p->out);
		}
		s += len;
	}
}

static void put_bytes(const struct page *p, uint64_t bytes)
{
	char n[FORMAT_NUMBER];

	fprintf(p->out, "%s%s", bytes && p->about ? "~" : "", format_bytes(n, bytes));
}

/* "2026-11-23 00:24:08 UTC": when the program began, the one time that a session keeps. */
static void put_date(const struct page *p)
{
	const struct program *g = model_program(p->report->model);
	time_t s = (time_t)(g->start_unix_ns / 1000000000);
	char stamp[64];
	struct tm tm;

	if (!g->start_unix_ns || !gmtime_r(&s, &tm) ||
	    !strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S UTC", &tm))
		return;
	put(p, stamp);
}

static const char *name_of(const struct page *p)
{
	const struct program *g = model_program(p->report->model);

	return *g->name ? g->name : "?";
}

/* --- the head */

static void put_title(const struct page *p)
{
	const struct model *m = p->report->model;
	const struct totals *t = model_totals(m);

	put(p, "<title>");
	put_text(p, name_of(p));
	fprintf(p->out, " [%u]: ", model_program(m)->pid);
	put_bytes(p, live_bytes(&t->sum));
	put(p, " live, peak ");
	put_bytes(p, t->peak_bytes);
	put(p, ", ");
	put_date(p);
	put(p, " - memtop</title>\n");
}

static void put_head(const struct page *p)
{
	put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	       "script-src '" HTML_SCRIPT_HASH "'; style-src '" HTML_STYLE_HASH "' '" HTML_DARK_HASH
	       "'; base-uri 'none'; form-action 'none'\">\n"
	       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	       "<meta name=\"referrer\" content=\"no-referrer\">\n"
	       "<meta name=\"generator\" content=\"memtop " MEMTOP_VERSION "\">\n");
	put_title(p);
	put(p, "<style>");
	put(p, html_style);
	put(p, "</style>\n<style id=\"dark\" media=\"screen and (prefers-color-scheme: dark)\">");
	put(p, html_dark);
	put(p, "</style>\n</head>\n<body>\n");
}

/* --- the answer, which needs no script */

static void put_end(const struct page *p)
{
	const struct model *m = p->report->model;
	int status;
	bool known;
	uint32_t state = model_state(m, &status, &known);
	char signal[FORMAT_SIGNAL];

	if (state == MTW_EXITED && known)
		fprintf(p->out, "exited with status %d", status);
	else if (state == MTW_SIGNALLED && known)
		fprintf(p->out, "ended by %s", format_signal(status, signal));
	else if (state == MTW_LINK_LOST)
		put(p, "link lost");
	else if (state == MTW_CUT)
		put(p, "recording cut off");
	else
		put(p, report_state(state, known));
	fprintf(p->out, " after %.1f s", (double)model_time(m) / 1e9);
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
	if (!v.text[0])
		return;
	put(p, "<p class=\"verdict\" id=\"verdict\" data-word=\"");
	put_text(p, v.word ? v.word : "");
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
		 format_count(n, blocks), blocks == 1 ? "" : "s");
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
		r->warning_count < 4 ? " open" : "", r->warning_count,
		r->warning_count == 1 ? "" : "s");
	for (size_t i = 0; i < r->warning_count; i++) {
		put(p, "<li>");
		put_text(p, r->warnings[i]);
		put(p, "</li>\n");
	}
	put(p, "</ul></details>\n");
}

static void put_answer(const struct page *p)
{
	const struct model *m = p->report->model;

	put(p, "<header>\n<h1>");
	put_text(p, name_of(p));
	fprintf(p->out, " <small>[%u] ", model_program(m)->pid);
	put_end(p);
	put(p, "</small></h1>\n");
	put_command(p);
	put(p, "<p class=\"date\">started ");
	put_date(p);
	put(p, "</p>\n</header>\n");
	put_verdict(p);
	put_totals(p);
	put_warnings(p);
}

/* --- the page */

static int write_page(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
		      struct err *err)
{
	struct report *r = report_new(w);
	struct page p = { out, r, q, w, model_estimate(r->model) };
	struct report_stack *changed = NULL;
	size_t count;
	int rc = -1;

	/* refuses a mark without stacks, as the other formats do */
	if (o->changes && !(changed = report_changes(r, o, &count, err)))
		goto out;
	put_head(&p);
	put_answer(&p);
	put(&p, html_body);
	put(&p, "<script type=\"application/octet-stream\" id=\"data\">");
	struct html_trie *t = html_trie_new(r);
	struct pack *data = pack_new(out);
	html_data_put(r, w, q, t, o, data);
	pack_end(data);
	html_trie_free(t);
	put(&p, "</script>\n<script type=\"module\">");
	put(&p, html_script);
	put(&p, "</script>\n</body>\n</html>\n");
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
