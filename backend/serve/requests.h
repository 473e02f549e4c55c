/* SPDX-License-Identifier: MIT
 *
 * requests.h - what the routes of the server share: requests that wait, and the process that a
 * request is about.
 */
#ifndef SERVE_REQUESTS_H
#define SERVE_REQUESTS_H

#include "serve/http.h"
#include "serve/server.h"
#include "serve/fleet.h"

struct job;

struct server {
	struct loop *loop;
	struct fleet *fleet;
	struct server_options options;
	struct http *http;
	struct job *jobs;          /* that wait; owned */
	struct loop_source *timer; /* steps them; NULL = none waits */
	struct loop_source *namer; /* NULL = all names that were asked for are here */
	unsigned writers;          /* forked children that write reports */
	bool marking;              /* a POST waits for its marks: the next one waits for it */
};

/* A request that waits for the agent, for names or for a child. */
struct job {
	struct server *server;
	struct job *next;
	struct http_request *request; /* NULL: its client has gone */
	uint64_t begun_ns;
	/* Goes on. True: it has answered, and the job ends. */
	bool (*step)(struct job *j);
	void (*release)(struct job *j); /* NULL = nothing to release but state */
	void *state;                    /* owned: free() */
};

/* Steps it at once, and then every few ms until it has answered. */
void job_start(struct server *s, struct http_request *r, bool (*step)(struct job *j),
	       void (*release)(struct job *j), void *state_take);
void job_free(struct job *j); /* one that is in no list any more */
bool job_older(const struct job *j, uint64_t ns);

/* Does ?pid=all ask for all processes together, as one heap? */
bool server_of_all(const struct http_request *r);
/* The process that ?pid= names, or all that run, else all that ended: one alone unless `several`
 * may be, or server_of_all(). The caller frees *list. 0: an answer with the reason was sent. */
size_t server_choose(struct server *s, struct http_request *r, bool several, struct member ***list);
/* Answers with what `out` (of open_memstream(), closed here) has in *text, which it frees. */
void server_send(struct http_request *r, int status, const char *type, FILE *out, char **text,
		 size_t *len);
/* Asks the agent for one kind of scan; true: the answer is here, and young. */
bool server_looked(struct member *m, enum mtw_kind kind);

/* the routes */
void metrics_answer(struct server *s, struct http_request *r);
void index_answer(struct server *s, struct http_request *r);
void targets_answer(struct server *s, struct http_request *r);
void marks_answer(struct server *s, struct http_request *r);
enum written { WHOLE, ALLOCATED, GROWTH };
struct report_format;
/* ?at=, ?since= and ?value= are those of memtop report. ALLOCATED: a profile that shows this first.
 * GROWTH: without ?since=, since the newest mark or the start. */
void reports_answer(struct server *s, struct http_request *r, const struct report_format *f,
		    enum written what);

/*
 * --- openmetrics.c: the figures of followed processes as OpenMetrics 1.0, or in the older text
 * format of Prometheus.
 *
 * Names, types and labels are a contract (memtop-serve(7)). Per process there are some fifty
 * series, and one per owner, at most `top` + 1: the rest is summed as owner="other".
 */

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define CLASSIC_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct openmetrics_options {
	size_t top;   /* owners of each process */
	long pid;     /* this process alone; 0 = all */
	bool classic; /* the older format: no state sets, no units, no end mark */
};

void openmetrics_write(struct fleet *f, const struct openmetrics_options *o, FILE *out);
/* Does a client that sends this Accept header (NULL = none) want the older format? */
bool openmetrics_classic(const char *accept);
/* A label's value: any bytes become clean UTF-8, with \, " and line ends escaped; cut to fit. */
char *openmetrics_label(char *buf, size_t size, const char *text);

#endif
