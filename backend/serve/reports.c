/* SPDX-License-Identifier: MIT
 *
 * reports.c - reports and profiles over HTTP, in the formats of report/formats/formats.h.
 *
 * A report of a large program takes seconds, and needs the names of all its code. So the agent is
 * asked for its scans, then names are requested in slices, and then a forked child, which has the
 * model of that instant, writes into a file in memory. The server goes on meanwhile. A failure is a
 * sentence in the same file, and the child's status tells. A child that is killed, or for which the
 * memory runs out, leaves a part of the report there.
 */
#include "serve/requests.h"

#include "base/child.h"
#include "base/loop.h"
#include "link/goto_instant.h"
#include "link/when.h"
#include "processes/all.h"
#include "report/between.h"
#include "report/formats/formats.h"
#include "report/gzip.h"
#include "report/report.h"
#include "symbols/symbols.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOKS_NS 1500000000ull /* scans are waited for so long */
#define LATE_NS 50000000000ull /* the client would give up */
#define SLICE_LOCATIONS 20000u
#define WRITERS_MAX 4u /* each may need as much memory as the model */

/* A process that the report is about. */
struct part {
	uint64_t serial; /* the member's; 0 = it has gone meanwhile */
	struct report_options options;
	uint32_t asked; /* locations whose names were asked for */
	bool looked;
};

struct writing {
	const struct report_format *format;
	char at[128];    /* "" = now */
	bool all;        /* of the processes together, as one heap */
	bool changes;    /* of all: since `since`, which may also be an instant of each part */
	char since[128]; /* "" = a mark of each part, or no change */
	bool zip;
	pid_t pid; /* the child; 0 = not started */
	int fd;    /* its file; -1 = none */
	size_t count;
	struct part parts[];
};

enum { DONE, ENDED = CHILD_ENDED, FAILED, NOT_POSSIBLE /* what was asked for */ };

static _Noreturn void fail(int fd, int status, const char *text)
{
	ssize_t n = ftruncate(fd, 0) ? -1 : pwrite(fd, text, strlen(text), 0);

	_exit(n < 0 ? FAILED : status);
}

/* In the child alone: what it makes ends with it. */
static int write_all(const struct writing *s, struct loop *loop, struct fleet *fleet, FILE *out,
		     struct err *err)
{
	struct report_options o = s->parts[0].options;
	struct watch **list = xcalloc(s->count, sizeof(struct watch *));
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->parts[i].serial) {
			list[n++] = fleet_by_serial(fleet, s->parts[i].serial)->watch;
			symbols_freeze(watch_symbols(list[n - 1]));
		}
	struct processes *p = processes_of_watches(loop, list, n, err);
	struct all *all = p ? all_of_tree(loop, p, &(struct watch_options){ 0 }, err) : NULL;
	if (!all)
		return -1;
	struct watch *w = all_watch(all);
	symbols_freeze(watch_symbols(w));
	if ((s->changes && between_end(w, s->since, 0, &o.from, err)) ||
	    (*s->at && goto_instant(w, s->at, err)))
		fail(s->fd, NOT_POSSIBLE, err->text);
	o.changes = s->changes;
	o.processes = p;
	o.all = all;
	struct query *q = query_new(watch_model(w), watch_symbols(w),
				    owners_new(watch_model(w), watch_symbols(w)));
	query_expect(q, watch_expected(w));
	return s->format->write(w, q, &o, out, err);
}

static int write_parts(struct writing *s, struct fleet *fleet, FILE *out, struct err *err)
{
	struct report_source *list = xcalloc(s->count, sizeof *list);
	struct member *m = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct part *p = &s->parts[i];

		if (!p->serial)
			continue;
		m = fleet_by_serial(fleet, p->serial);
		symbols_freeze(watch_symbols(m->watch));
		if ((*s->since && between_end(m->watch, s->since, 0, &p->options.from, err)) ||
		    (*s->at && goto_instant(m->watch, s->at, err)))
			fail(s->fd, NOT_POSSIBLE, err->text);
		list[n++] = (struct report_source){ m->watch, &p->options };
	}
	int rc = s->format->write_all
			 ? s->format->write_all(list, n, out, err)
			 : s->format->write(m->watch, fleet_query(m), list->options, out, err);
	free(list);
	return rc;
}

static _Noreturn void child(struct writing *s, struct loop *loop, struct fleet *fleet)
{
	struct err err = { .text = "the report cannot be written" };

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* before all: it may be stopped at any instruction */
	child_begin(-1);
	loop_forked(loop);
	FILE *file = fdopen(s->fd, "w"), *out = file && s->zip ? gzip_open(file) : file;
	bool failed = !out || (s->all ? write_all(s, loop, fleet, out, &err)
				      : write_parts(s, fleet, out, &err));
	if (!failed && out != file)
		failed = fclose(out);
	if (failed || fflush(file) || ferror(file))
		fail(s->fd, FAILED, err.text);
	_exit(DONE);
}

static bool start_child(struct job *j)
{
	struct writing *s = j->state;

	if (j->server->writers >= WRITERS_MAX)
		return false;
	s->fd = memfd_create("report", MFD_CLOEXEC);
	s->pid = s->fd < 0 ? -1 : fork();
	if (s->pid == 0)
		child(s, j->server->loop, j->server->fleet);
	if (s->pid < 0) {
		s->pid = 0;
		http_say(j->request, 503, "the report cannot be written: %s", strerror(errno));
		return true;
	}
	j->server->writers++;
	return false;
}

static void say_failure(struct job *j, int fd, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	bool said = code == FAILED || code == NOT_POSSIBLE;
	char text[1000];
	ssize_t n = said ? pread(fd, text, sizeof text - 1, 0) : 0;

	text[n > 0 ? n : 0] = '\0';
	http_say(j->request, code == NOT_POSSIBLE ? 400 : 500, "%s",
		 n > 0           ? text
		 : code == ENDED ? "out of memory: the report's writer got no more"
				 : "the report's writer was killed");
}

static const char *type_of(const struct report_format *f)
{
	size_t len = strlen(f->ending);

	if (!strcmp(f->name, "html"))
		return "text/html; charset=utf-8";
	if (len >= 5 && !strcmp(f->ending + len - 5, ".json"))
		return "application/json";
	return f->binary ? "application/octet-stream" : "text/plain; charset=utf-8";
}

static bool child_ended(struct job *j)
{
	struct writing *s = j->state;
	int status = 0;

	if (waitpid(s->pid, &status, WNOHANG) != s->pid)
		return false;
	s->pid = 0;
	j->server->writers--;
	if (status) {
		say_failure(j, s->fd, status);
		return true;
	}
	http_reply_file(j->request, type_of(s->format), s->zip, s->fd);
	s->fd = -1;
	return true;
}

static bool looked(struct part *p, struct member *m)
{
	static const enum mtw_kind kinds[] = { MTW_KIND_MEMORY, MTW_KIND_THREADS,
					       MTW_KIND_COHORTS };
	bool all = true;

	for (size_t i = 0; !p->looked && i < sizeof kinds / sizeof *kinds; i++)
		all = server_looked(m, kinds[i]) && all; /* each is asked */
	return p->looked = p->looked || all;
}

static bool named(struct part *p, struct member *m)
{
	struct symbols *symbols = watch_symbols(m->watch);
	uint32_t count = model_location_count(watch_model(m->watch)), left = SLICE_LOCATIONS;

	if (p->asked > count) /* another program meanwhile */
		p->asked = 0;
	for (; p->asked < count && left; p->asked++, left--)
		symbols_of_location(symbols, p->asked);
	return p->asked == count && watch_named(m->watch);
}

/* All agents are asked at once; names come for one process after the other, for libdw needs some 20
 * MB meanwhile. *left: how many processes are still there. */
static bool ready(struct job *j, size_t *left)
{
	struct writing *s = j->state;
	bool all_looked = true, all_named = true;

	*left = 0;
	for (size_t i = 0; i < s->count; i++) {
		struct part *p = &s->parts[i];
		struct member *m = fleet_by_serial(j->server->fleet, p->serial);

		if (!m) {
			p->serial = 0;
			continue;
		}
		(*left)++;
		all_looked &= looked(p, m);
		all_named = all_named && named(p, m);
	}
	return (all_looked || job_older(j, LOOKS_NS)) && all_named;
}

static bool step(struct job *j)
{
	struct writing *s = j->state;
	size_t left;

	if (job_older(j, LATE_NS)) {
		http_say(j->request, 503, "the report takes too long; try memtop report");
		return true;
	}
	if (s->pid)
		return child_ended(j);
	bool now = ready(j, &left);
	if (!left) {
		http_say(j->request, 404, "the process has ended");
		return true;
	}
	return now && start_child(j);
}

static void release(struct job *j)
{
	struct writing *s = j->state;

	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
		j->server->writers--;
	}
	if (s->fd >= 0)
		close(s->fd);
}

static int read_instant(const struct member *m, const char *name, const char *word, char *to,
			size_t size, struct err *err)
{
	const struct model *model = watch_model(m->watch);
	uint64_t time_ns;

	if (!*word || strlen(word) >= size || !when_read(model, model_time(model), word, &time_ns))
		return err_set(err, 2,
			       "?%s=%.100s: no such instant of process %d; write " WHEN_WORDS
			       "; /marks lists the marks",
			       name, word, m->pid);
	if (!when_lies_in(model_time(model), word, time_ns, err))
		return -1;
	snprintf(to, size, "%s", word);
	return 0;
}

/* Since an instant, else the newest mark. */
static int read_since(const struct member *m, const char *word, struct writing *s,
		      struct report_options *o, struct err *err)
{
	o->changes = true;
	o->from = word ? 0 : model_newest_mark(watch_model(m->watch));
	return word && strcmp(word, "start") != 0
		       ? read_instant(m, "since", word, s->since, sizeof s->since, err)
		       : 0;
}

static int read_value(const char *word, const struct writing *s, struct report_options *o,
		      struct err *err)
{
	if (strcmp(s->format->name, "folded"))
		return err_set(err, 2,
			       "?value=: works only with folded; %s has no choice of values",
			       s->format->name);
	return report_value_by_name(word, &o->value, err);
}

/* Marks of all are known when all are one. */
static int read_of_all(const struct http_request *r, enum written what, struct writing *s,
		       struct part *p, struct err *err)
{
	const char *since = http_parameter(r, "since"), *at = http_parameter(r, "at"),
		   *value = http_parameter(r, "value");

	s->changes = since || what == GROWTH;
	snprintf(s->since, sizeof s->since, "%s", since ? since : "start");
	snprintf(s->at, sizeof s->at, "%s", at ? at : "");
	if (what == ALLOCATED)
		p->options.value = VALUE_ALLOCATED;
	return value ? read_value(value, s, &p->options, err) : 0;
}

static int read_question(const struct http_request *r, const struct member *m, enum written what,
			 struct writing *s, struct part *p, struct err *err)
{
	const char *since = http_parameter(r, "since"), *at = http_parameter(r, "at"),
		   *value = http_parameter(r, "value");

	if (what == ALLOCATED)
		p->options.value = VALUE_ALLOCATED;
	if (((what == GROWTH || since) && read_since(m, since, s, &p->options, err)) ||
	    (at && read_instant(m, "at", at, s->at, sizeof s->at, err)) ||
	    (value && read_value(value, s, &p->options, err)))
		return -1;
	return 0;
}

void reports_answer(struct server *s, struct http_request *r, const struct report_format *f,
		    enum written what)
{
	struct member **list;
	size_t n = server_choose(s, r, f->write_all != NULL, &list);
	struct writing *w = xcalloc(1, sizeof *w + n * sizeof *w->parts);
	struct err err;
	int rc = 0;

	w->format = f;
	w->fd = -1;
	w->zip = !f->binary && http_takes_gzip(r);
	w->all = server_of_all(r);
	for (; !rc && w->count < n; w->count++) {
		struct part *p = &w->parts[w->count];
		p->serial = list[w->count]->serial;
		rc = w->all ? read_of_all(r, what, w, p, &err)
			    : read_question(r, list[w->count], what, w, p, &err);
	}
	free(list);
	if (n && !rc) {
		job_start(s, r, step, release, w);
		return;
	}
	if (n)
		http_say(r, 400, "%s", err.text);
	free(w);
}
