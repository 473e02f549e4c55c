/* SPDX-License-Identifier: MIT
 *
 * pages.c - /metrics, and the index.
 */
#include "serve/requests.h"

#include "base/format.h"
#include "base/loop.h"
#include "base/sanitize.h"
#include "report/formats/formats.h"
#include "report/report.h"

#include <stdlib.h>

#define NAMES_MS 50
#define REFRESH_S "5"
#define PATIENCE_NS 500000000ull /* a scrape waits so long for agents and names */

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

/* RSS by part is scanned at a scrape alone. pid: of this process; 0 = of all */
static bool fresh(struct server *s, long pid)
{
	struct member *const *list;
	size_t n = fleet_list(s->fleet, &list);
	bool all = named(s);

	for (size_t i = 0; i < n; i++)
		if (!pid || list[i]->pid == pid)
			all &= fleet_up(list[i]) ? server_looked(list[i], MTW_KIND_MEMORY)
						 : !watch_live(list[i]->watch);
	return all;
}

static bool metrics_step(struct job *j)
{
	struct server *s = j->server;
	const char *accept = http_header(j->request, "Accept"),
		   *pid = http_parameter(j->request, "pid");
	struct openmetrics_options o = { .top = s->options.top,
					 .pid = pid ? strtol(pid, NULL, 10) : 0,
					 .classic = openmetrics_classic(accept) };
	char *text = NULL;
	size_t len = 0;

	if (!fresh(s, o.pid) && !job_older(j, PATIENCE_NS))
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

struct entry {
	struct member *member;
	const struct model *model;
	struct verdict verdict;
	unsigned rank; /* 0: a person should look at it first */
};

static unsigned rank(const struct entry *r)
{
	static const unsigned ranks[] = {
		[V_GROWING] = 0, [V_RSS_GROWING] = 1, [V_FILLING] = 2,  [V_STEP] = 3,
		[V_FLAT] = 4,    [V_SHRINKING] = 4,   [V_WATCHING] = 4, [V_EMPTY] = 4,
	};

	return !fleet_up(r->member) ? 5 : ranks[r->verdict.kind];
}

static uint64_t held(const struct entry *r)
{
	return live_bytes(&model_totals(r->model)->sum);
}

static int first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (held(x) != held(y))
		return held(x) < held(y) ? 1 : -1;
	return (x->member->serial > y->member->serial) - (x->member->serial < y->member->serial);
}

static void put_amount(FILE *out, uint64_t bytes)
{
	char text[FORMAT_NUMBER];

	fprintf(out, "<td class=\"n\">%s", bytes ? format_bytes(text, bytes) : "");
}

static void put_process(FILE *out, const struct entry *r)
{
	static const char *const class[] = { "bad", "bad", "look", "look", "", "over" };
	struct member *m = r->member;
	char *command, text[FORMAT_NUMBER];
	uint64_t rss = 0;

	fprintf(out, "<tr class=\"%s\"><td class=\"n\">%d<td>", class[r->rank], m -> pid);
	if (!fleet_known(m)) {
		put_html(out, m->name);
		fputs("<td><td><td><td><td>", out);
		put_html(out, watch_problem(m->watch) ? watch_problem(m->watch) : "loading");
		fputs("<td>\n", out);
		return;
	}
	command = report_command(r->model);
	put_html(out, *command ? command : m->name);
	free(command);
	model_process(r->model, &rss, NULL, NULL, NULL);
	put_amount(out, held(r));
	put_amount(out, model_totals(r->model)->peak_bytes);
	put_amount(out, fleet_up(m) ? rss : 0);
	fprintf(out, "<td class=\"n\">%s<td>",
		r->verdict.rated && fleet_up(m) ? format_signed(text, r->verdict.per_minute) : "");
	put_html(out, r->verdict.text);
	put_links(out, m->pid);
}

static struct entry *sorted(struct server *s, size_t *n)
{
	struct member *const *list;
	struct entry *rows;

	*n = fleet_list(s->fleet, &list);
	rows = xcalloc(*n + 1, sizeof *rows);
	for (size_t i = 0; i < *n; i++) {
		rows[i] = (struct entry){ .member = list[i], .model = watch_model(list[i]->watch) };
		if (list[i]->query)
			query_verdict(list[i]->query, &rows[i].verdict);
		else
			rows[i].verdict.kind = V_WATCHING;
		rows[i].rank = rank(&rows[i]);
	}
	qsort(rows, *n, sizeof *rows, first);
	return rows;
}

void index_answer(struct server *s, struct http_request *r)
{
	size_t n, len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		base_out_of_memory();
	named(s);
	struct entry *rows = sorted(s, &n);
	fprintf(out,
		"<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">"
		"<meta http-equiv=\"refresh\" content=\"" REFRESH_S "\">"
		"<title>memtop: %zu process%s</title>"
		"<style>:root{color-scheme:light dark}body{font:15px sans-serif;margin:2em}"
		"td,th{text-align:left;padding:.2em 1em .2em 0;vertical-align:top}"
		".n{text-align:right;white-space:nowrap}td:nth-child(2){overflow-wrap:anywhere}"
		".bad td:nth-child(7){color:light-dark(#b00020,#ff8a8a);font-weight:bold}"
		".look td:nth-child(7){font-weight:bold}.over{opacity:.6}</style>"
		"<h1>memtop</h1><p>%zu process%s, what grows first; this page is new "
		"every " REFRESH_S " seconds. "
		"<a href=\"/metrics\">metrics</a> <a href=\"/marks\">marks</a> "
		"<a href=\"/targets\">targets</a> "
		"<a href=\"/debug/pprof/heap\">profile of all</a>"
		"%s"
		"<table><tr><th class=\"n\">PID<th>COMMAND<th class=\"n\">LIVE<th class=\"n\">PEAK"
		"<th class=\"n\">RSS<th class=\"n\">PER MINUTE<th>VERDICT<th>REPORTS\n",
		n, n == 1 ? "" : "es", n, n == 1 ? "" : "es",
		n > 1 ? " <a href=\"/report.html?pid=all\">all as one heap</a>" : "");
	for (size_t i = 0; i < n; i++)
		put_process(out, &rows[i]);
	fputs("</table></html>\n", out);
	free(rows);
	server_send(r, 200, "text/html; charset=utf-8", out, &text, &len);
}
