/* SPDX-License-Identifier: MIT
 *
 * written.c - reports and profiles over HTTP, in the formats of report/formats/formats.h.
 *
 * A report of a large program takes seconds, and needs the names of all its code. So the agent is
 * asked for its scans, then names are requested in slices, and then a forked child, which has the
 * model of that instant, writes into a file in memory. The server goes on meanwhile. A failure is a
 * sentence in the same file, and the child's status tells. A child that is killed, or for which the
 * memory runs out, leaves a part of the report there.
 */
#include "serve/internal.h"

#include "base/child.h"
#include "base/loop.h"
#include "link/go.h"
#include "link/settle.h"
#include "link/when.h"
#include "report/formats/formats.h"
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

struct writing {
	uint64_t serial; /* the member's */
	const struct report_format *format;
	struct report_options options;
	char at[128];   /* "" = now */
	uint32_t asked; /* locations whose names were asked for */
	bool looked;
	pid_t pid; /* the child; 0 = not started */
	int fd;    /* its file; -1 = none */
};

/* --- the child */

enum { DONE, ENDED = CHILD_ENDED, FAILED, NOT_POSSIBLE /* what was asked for */ };

static _Noreturn void fail(int fd, int status, const char *text)
{
	ssize_t n = ftruncate(fd, 0) ? -1 : pwrite(fd, text, strlen(text), 0);

	_exit(n < 0 ? FAILED : status);
}

/* No stream goes into the child's model. So a mark needs no recorded past: the agent kept the live
 * blocks of each stack. */
static int travel(struct loop *loop, struct watch *w, const char *at, struct err *err)
{
	int mark = model_mark_find(watch_model(w), at);

	return mark > 0 ? settle_at_mark(w, (uint32_t)mark, err) : go_to(loop, w, at, err);
}

static _Noreturn void child(const struct writing *s, struct loop *loop, struct member *m)
{
	struct err err = { .text = "the report cannot be written" };

	child_begin(-1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	loop_forked(loop);
	symbols_freeze(watch_symbols(m->watch));
	if (*s->at && travel(loop, m->watch, s->at, &err))
		fail(s->fd, NOT_POSSIBLE, err.text);
	FILE *out = fdopen(s->fd, "w");
	if (!out || s->format->write(m->watch, fleet_query(m), &s->options, out, &err) ||
	    fflush(out))
		fail(s->fd, FAILED, err.text);
	_exit(DONE);
}

/* --- the server's side */

static bool start_child(struct job *j, struct member *m)
{
	struct writing *s = j->state;

	if (j->server->writers >= WRITERS_MAX)
		return false;
	s->fd = memfd_create("report", MFD_CLOEXEC);
	s->pid = s->fd < 0 ? -1 : fork();
	if (s->pid == 0)
		child(s, j->server->loop, m);
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
	http_reply_file(j->request, type_of(s->format), s->fd);
	s->fd = -1;
	return true;
}

static bool all_looked(struct job *j, struct member *m)
{
	struct writing *s = j->state;

	if (!s->looked)
		s->looked = server_looked(m, MTW_KIND_MEMORY) & server_looked(m, MTW_KIND_THREADS) &
			    server_looked(m, MTW_KIND_COHORTS);
	return s->looked || job_older(j, LOOKS_NS);
}

static bool all_named(struct writing *s, struct member *m)
{
	struct symbols *symbols = watch_symbols(m->watch);
	uint32_t count = model_location_count(watch_model(m->watch)), left = SLICE_LOCATIONS;

	if (s->asked > count) /* another program meanwhile */
		s->asked = 0;
	for (; s->asked < count && left; s->asked++, left--)
		symbols_of_location(symbols, s->asked);
	return s->asked == count && watch_named(m->watch);
}

static bool step(struct job *j)
{
	struct writing *s = j->state;
	struct member *m = s->pid ? NULL : fleet_by_serial(j->server->fleet, s->serial);

	if (job_older(j, LATE_NS)) {
		http_say(j->request, 503, "the report takes too long; try memtop report");
		return true;
	}
	if (s->pid)
		return child_ended(j);
	if (!m) {
		http_say(j->request, 404, "the process has ended");
		return true;
	}
	return all_looked(j, m) && all_named(s, m) && start_child(j, m);
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

/* --- what is asked for */

/* ?since=MARK, else the newest mark. */
static int read_since(const struct model *m, const char *word, struct report_options *o,
		      struct err *err)
{
	int found = !word                    ? (int)model_newest_mark(m)
		    : !strcmp(word, "start") ? 0
					     : model_mark_find(m, word);

	if (found < 0)
		return err_set(err, 2,
			       "?since=%.100s: no mark has this name or number; /marks lists them",
			       word);
	o->changes = true;
	o->from = (uint32_t)found;
	return 0;
}

static int read_at(const struct model *m, const char *word, struct writing *s, struct err *err)
{
	uint64_t to;

	if (!*word || strlen(word) >= sizeof s->at || !when_read(m, model_time(m), word, &to))
		return err_set(err, 2, "?at=%.100s: no such instant; write " WHEN_WORDS, word);
	snprintf(s->at, sizeof s->at, "%s", word);
	return 0;
}

static int read_value(const char *word, struct writing *s, struct err *err)
{
	if (strcmp(s->format->name, "folded"))
		return err_set(err, 2,
			       "?value=: only folded has one value a stack; %s has all of them",
			       s->format->name);
	return report_value_by_name(word, &s->options.value, err);
}

static int read_question(const struct http_request *r, const struct model *m, enum written what,
			 struct writing *s, struct err *err)
{
	const char *since = http_parameter(r, "since"), *at = http_parameter(r, "at"),
		   *value = http_parameter(r, "value");

	if (what == ALLOCATED)
		s->options.value = VALUE_ALLOCATED;
	if (((what == GROWTH || since) && read_since(m, since, &s->options, err)) ||
	    (at && read_at(m, at, s, err)) || (value && read_value(value, s, err)))
		return -1;
	return 0;
}

void written_answer(struct server *s, struct http_request *r, const struct report_format *f,
		    enum written what)
{
	struct writing *w = xcalloc(1, sizeof *w);
	struct member *m = server_choose(s, r);
	struct err err;

	w->format = f;
	w->fd = -1;
	if (m && !read_question(r, watch_model(m->watch), what, w, &err)) {
		w->serial = m->serial;
		job_start(s, r, step, release, w);
		return;
	}
	if (m)
		http_say(r, 400, "%s", err.text);
	free(w);
}
