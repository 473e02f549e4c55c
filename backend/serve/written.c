/* SPDX-License-Identifier: MIT
 *
 * written.c - reports and profiles over HTTP, in the formats of report/formats/formats.h.
 *
 * A report of a large program takes seconds, and needs the names of all its code. So the agent is
 * asked for its scans, then names are requested in slices, and then a forked child, which has the
 * model of that instant, writes into a file in memory. The server goes on meanwhile. A failure is a
 * sentence in the same file, and the child's status tells.
 */
#include "serve/internal.h"

#include "report/formats/formats.h"
#include "symbols/symbols.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOKS_NS 1500000000ull /* scans are waited for so long */
#define LATE_NS 50000000000ull /* the client would give up */
#define SLICE_LOCATIONS 20000u
#define WRITERS_MAX 4u /* each may need as much memory as the model */

struct written {
	uint64_t serial; /* the member's */
	const struct report_format *format;
	struct report_options options;
	uint32_t asked; /* locations whose names were asked for */
	bool looked;
	pid_t pid; /* the child; 0 = not started */
	int fd;    /* its file; -1 = none */
};

/* --- the child */

static void fail(int fd, const char *text)
{
	ssize_t n = ftruncate(fd, 0) ? -1 : pwrite(fd, text, strlen(text), 0);

	_exit(n < 0 ? 2 : 1);
}

static _Noreturn void child(const struct written *s, struct member *m)
{
	struct err err = { .text = "the report cannot be written" };
	sigset_t all;

	/* Handlers of the loop would write into the parent's pipes. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	symbols_freeze(watch_symbols(m->watch));
	FILE *out = fdopen(s->fd, "w");
	if (!out || s->format->write(m->watch, fleet_query(m), &s->options, out, &err) ||
	    fflush(out))
		fail(s->fd, err.text);
	_exit(0);
}

/* --- the server's side */

static bool start_child(struct job *j, struct member *m)
{
	struct written *s = j->state;

	if (j->server->writers >= WRITERS_MAX)
		return false;
	s->fd = memfd_create("report", MFD_CLOEXEC);
	s->pid = s->fd < 0 ? -1 : fork();
	if (s->pid == 0)
		child(s, m);
	if (s->pid < 0) {
		s->pid = 0;
		http_say(j->request, 503, "the report cannot be written: %s", strerror(errno));
		return true;
	}
	j->server->writers++;
	return false;
}

static void say_failure(struct job *j, int fd)
{
	char text[1000];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	http_say(j->request, 500, "%s", n > 0 ? text : "the report's writer was killed");
}

static const char *type_of(const struct report_format *f)
{
	return !strcmp(f->name, "html")   ? "text/html; charset=utf-8"
	       : !strcmp(f->name, "json") ? "application/json"
	       : !strcmp(f->name, "text") ? "text/plain; charset=utf-8"
					  : "application/octet-stream";
}

static bool child_ended(struct job *j)
{
	struct written *s = j->state;
	int status = 0;

	if (waitpid(s->pid, &status, WNOHANG) != s->pid)
		return false;
	s->pid = 0;
	j->server->writers--;
	if (status) {
		say_failure(j, s->fd);
		return true;
	}
	http_reply_file(j->request, type_of(s->format), s->fd);
	s->fd = -1;
	return true;
}

static bool all_looked(struct job *j, struct member *m)
{
	struct written *s = j->state;

	if (!s->looked)
		s->looked = server_looked(m, MTW_KIND_MEMORY) & server_looked(m, MTW_KIND_THREADS) &
			    server_looked(m, MTW_KIND_COHORTS);
	return s->looked || job_older(j, LOOKS_NS);
}

static bool all_named(struct written *s, struct member *m)
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
	struct written *s = j->state;
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
	struct written *s = j->state;

	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
		j->server->writers--;
	}
	if (s->fd >= 0)
		close(s->fd);
}

/* ?since=MARK, else the newest mark. False: no such mark. */
static bool since(const struct model *m, const char *word, struct report_options *o)
{
	int found = !word                    ? (int)model_newest_mark(m)
		    : !strcmp(word, "start") ? 0
					     : model_mark_find(m, word);

	o->changes = true;
	o->from = found < 0 ? 0 : (uint32_t)found;
	return found >= 0;
}

void written_answer(struct server *s, struct http_request *r, const char *format, bool growth)
{
	const struct report_format *f = formats_by_name(format);
	struct written w = { .format = f, .fd = -1 };

	if (!f) {
		http_say(r, 501, "this memtop has no format %s", format);
		return;
	}
	struct member *m = server_choose(s, r);
	if (!m)
		return;
	if (growth && !since(watch_model(m->watch), http_parameter(r, "since"), &w.options)) {
		http_say(r, 404, "no mark has this name or number; /marks lists them");
		return;
	}
	struct written *state = xmalloc(sizeof *state);
	w.serial = m->serial;
	*state = w;
	job_start(s, r, step, release, state);
}
