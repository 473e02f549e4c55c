/* SPDX-License-Identifier: MIT
 *
 * server.c - see serve/server.h: the routes.
 */
#include "serve/requests.h"

#include "base/loop.h"
#include "report/formats/formats.h"

#include <stdlib.h>
#include <string.h>

static void on_gone(void *arg, struct http_request *r)
{
	struct server *s = arg;

	for (struct job *j = s->jobs; j; j = j->next)
		if (j->request == r)
			j->request = NULL;
}

static void growth_answer(struct server *s, struct http_request *r)
{
	reports_answer(s, r, formats_by_name("pprof"), GROWTH);
}

static void allocs_answer(struct server *s, struct http_request *r)
{
	reports_answer(s, r, formats_by_name("pprof"), ALLOCATED);
}

static void heap_answer(struct server *s, struct http_request *r)
{
	reports_answer(s, r, formats_by_name("pprof"), WHOLE);
}

static const struct {
	const char *path;
	bool post; /* takes POST, too */
	void (*answer)(struct server *s, struct http_request *r);
} routes[] = {
	{ "/", false, index_answer },
	{ "/metrics", false, metrics_answer },
	{ "/debug/pprof/heap", false, heap_answer },
	{ "/debug/pprof/allocs", false, allocs_answer },
	{ "/debug/pprof/growth", false, growth_answer },
	{ "/marks", true, marks_answer },
	{ "/targets", false, targets_answer },
};

/* /report.ENDING */
static void report_answer(struct server *s, struct http_request *r)
{
	char endings[300];
	const struct report_format *f = formats_by_path(http_path(r));

	if (!f)
		http_say(r, 404, "%.100s: no format ends so; use %s", http_path(r),
			 formats_endings(endings, sizeof endings));
	else if (http_method(r) == HTTP_POST)
		http_say(r, 405, "only GET is served here");
	else
		reports_answer(s, r, f, WHOLE);
}

static void on_request(void *arg, struct http_request *r)
{
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		if (strcmp(http_path(r), routes[i].path))
			continue;
		if (http_method(r) == HTTP_POST && !routes[i].post)
			http_say(r, 405, "only GET is served here");
		else
			routes[i].answer(arg, r);
		return;
	}
	if (!strncmp(http_path(r), "/report.", 8) && !strchr(http_path(r) + 1, '/'))
		report_answer(arg, r);
	else
		http_say(r, 404, "nothing is served here; / lists what is");
}

struct server *server_new(struct loop *loop, struct fleet *fleet, const struct server_options *o,
			  struct err *err)
{
	struct server *s = xcalloc(1, sizeof *s);

	s->loop = loop;
	s->fleet = fleet;
	s->options = *o;
	s->http = http_new(loop,
			   &(struct http_options){ .listen = o->listen,
						   .token = o->token,
						   .answer = on_request,
						   .gone = on_gone,
						   .arg = s },
			   err);
	if (s->http)
		return s;
	free(s);
	return NULL;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	loop_remove(s->timer);
	loop_remove(s->namer);
	while (s->jobs) {
		struct job *j = s->jobs;

		s->jobs = j->next;
		job_free(j);
	}
	http_free(s->http);
	free(s);
}

const char *server_address(const struct server *s)
{
	return http_address(s->http);
}
