/* SPDX-License-Identifier: MIT
 *
 * server.c - see serve/server.h: the routes.
 */
#include "serve/internal.h"

#include "base/loop.h"

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
	written_answer(s, r, "pprof", true);
}

static void pprof_answer(struct server *s, struct http_request *r)
{
	written_answer(s, r, "pprof", false);
}

static void html_answer(struct server *s, struct http_request *r)
{
	written_answer(s, r, "html", http_parameter(r, "since") != NULL);
}

static void json_answer(struct server *s, struct http_request *r)
{
	written_answer(s, r, "json", http_parameter(r, "since") != NULL);
}

static void text_answer(struct server *s, struct http_request *r)
{
	written_answer(s, r, "text", http_parameter(r, "since") != NULL);
}

static const struct {
	const char *path;
	bool post; /* takes POST, too */
	void (*answer)(struct server *s, struct http_request *r);
} routes[] = {
	{ "/", false, index_answer },
	{ "/metrics", false, metrics_answer },
	{ "/report.html", false, html_answer },
	{ "/report.json", false, json_answer },
	{ "/report.txt", false, text_answer },
	{ "/debug/pprof/heap", false, pprof_answer },
	{ "/debug/pprof/allocs", false, pprof_answer },
	{ "/debug/pprof/growth", false, growth_answer },
	{ "/marks", true, marks_answer },
};

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
