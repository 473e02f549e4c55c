/* SPDX-License-Identifier: MIT
 *
 * pages.c - /metrics, and the index.
 */
#include "serve/internal.h"

#include "base/format.h"
#include "base/loop.h"
#include "base/sanitize.h"
#include "report/formats/formats.h"
#include "serve/openmetrics.h"

#include <stdlib.h>

#define NAMES_MS 50
#define PATIENCE_NS 500000000ull /* a scrape waits so long for agents and names */

/* --- /metrics */

static void on_names(void *server)
{
	struct server *s = server;

	if (!fleet_name(s->fleet))
		return;
	loop_remove(s->namer);
	s->namer = NULL;
}

/* Owners and verdicts depend on names, which come in the background. */
static bool named(struct server *s)
{
	bool all = fleet_name(s->fleet);

	if (!all && !s->namer)
		s->namer = loop_timer(s->loop, NAMES_MS, true, on_names, s);
	return all;
}

/* RSS by part is scanned at a scrape alone. */
static bool fresh(struct server *s)
{
	struct member *const *list;
	size_t n = fleet_list(s->fleet, &list);
	bool all = named(s);

	for (size_t i = 0; i < n; i++)
		all &= fleet_up(list[i]) ? server_looked(list[i], MTW_KIND_MEMORY)
					 : !watch_live(list[i]->watch);
	return all;
}

static bool metrics_step(struct job *j)
{
	struct server *s = j->server;
	const char *accept = http_header(j->request, "Accept");
	struct openmetrics_options o = { .top = s->options.top,
					 .classic = openmetrics_classic(accept) };
	char *text = NULL;
	size_t len = 0;

	if (!fresh(s) && !job_older(j, PATIENCE_NS))
		return false;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		base_out_of_memory();
	openmetrics_write(s->fleet, &o, out);
	server_send(j->request, 200, o.classic ? CLASSIC_TYPE : OPENMETRICS_TYPE, out, &text, &len);
	return true;
}

void metrics_answer(struct server *s, struct http_request *r)
{
	job_start(s, r, metrics_step, NULL, NULL);
}

/* --- the index */

static void put_html(FILE *out, const char *text)
{
	char clean[300];

	for (const char *s = sanitize_clean(clean, sizeof clean, text); *s; s++) {
		if (*s == '<' || *s == '>' || *s == '&' || *s == '"')
			fprintf(out, "&#%d;", *s);
		else
			fputc(*s, out);
	}
}

static void put_links(FILE *out, int pid)
{
	static const struct {
		const char *format, *path;
	} links[] = {
		{ "html", "/report.html" },
		{ "text", "/report.txt" },
		{ "json", "/report.json" },
		{ "pprof", "/debug/pprof/heap" },
	};

	fputs("<td>", out);
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (formats_by_name(links[i].format))
			fprintf(out, "<a href=\"%s?pid=%d\">%s</a> ", links[i].path, pid,
				links[i].format);
	fputc('\n', out);
}

static void put_process(FILE *out, struct member *m)
{
	char bytes[FORMAT_NUMBER];
	struct verdict v = { .text = "" };

	fprintf(out, "<tr><td>%d<td>", m->pid);
	put_html(out, m->name);
	if (!fleet_known(m)) {
		fputs("<td><td>", out);
		put_html(out, watch_problem(m->watch) ? watch_problem(m->watch) : "loading");
		fputs("<td>\n", out);
		return;
	}
	if (m->query)
		query_verdict(m->query, &v);
	fprintf(out, "<td>%s<td>",
		format_bytes(bytes, live_bytes(&model_totals(watch_model(m->watch))->sum)));
	put_html(out, v.text);
	put_links(out, m->pid);
}

void index_answer(struct server *s, struct http_request *r)
{
	struct member *const *list;
	size_t n = fleet_list(s->fleet, &list), len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		base_out_of_memory();
	named(s);
	fputs("<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>memtop</title>"
	      "<style>:root{color-scheme:light dark}body{font:15px sans-serif;margin:2em}"
	      "td,th{text-align:left;padding:.2em 1em .2em 0}</style><h1>memtop</h1>"
	      "<p><a href=\"/metrics\">metrics</a> <a href=\"/marks\">marks</a>"
	      "<table><tr><th>PID<th>NAME<th>LIVE<th>VERDICT<th>REPORTS\n",
	      out);
	for (size_t i = 0; i < n; i++)
		put_process(out, list[i]);
	fputs("</table></html>\n", out);
	server_send(r, 200, "text/html; charset=utf-8", out, &text, &len);
}
