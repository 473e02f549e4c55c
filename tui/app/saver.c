/* SPDX-License-Identifier: MIT
 *
 * saver.c - writes a report or the session while the view goes on.
 *
 * A report and a session need the names of every stack, which takes seconds in a large program. So
 * the names are requested in slices between keys. Then a forked child, which has the model of that
 * instant, writes the file and reports a failure through a pipe. The child has one thread: it never
 * asks the symbolizer, leaves the terminal alone and ends by _exit. It also copies a session, which
 * may be a gigabyte, from its spool on disk and adds the resolved names.
 *
 * Only one file is written at a time: under a temporary name, renamed when it is complete, so that
 * a full disk leaves no partial file. A session still pending when the view ends is finished with
 * the names resolved so far.
 */
#include "app/actions.h"

#include "base/atomic_file.h"
#include "base/child.h"
#include "base/loop.h"
#include "model/columns.h"
#include "symbols/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLICE_MS 20
#define SLICE_LOCATIONS 20000u

static struct {
	struct app *app;                    /* NULL: nothing is being saved */
	const struct report_format *format; /* NULL: the session itself */
	char path[PATH_MAX];                /* as it was typed */
	struct replacement file;
	uint32_t asked; /* locations whose names were asked for */
	struct loop_source *timer, *reader;
	int fd; /* the child's words; -1: it was not started */
	pid_t pid;
	char said[256];
	size_t said_len;
} job;

static void finish(void)
{
	loop_remove(job.timer);
	loop_remove(job.reader);
	if (job.fd >= 0)
		close(job.fd);
	job.timer = job.reader = NULL;
	job.fd = -1;
	job.app->timing.due = job.app->ui.moved = true;
	job.app = NULL;
}

bool saver_naming(void)
{
	return job.app && job.fd < 0;
}

static int write_report(struct err *err)
{
	struct app *a = job.app;
	struct report_options o = { .from = model_base(a->ui.shown.model),
				    .to = model_until(a->ui.shown.model),
				    .changes = model_diffing(a->ui.shown.model) };
	FILE *out = fopen(job.file.part, "wxe");

	if (!out)
		return err_set(err, 3, "%s: %s", job.path, strerror(errno));
	int rc = job.format->write(a->ui.shown.watch, a->ui.shown.query, &o, out, err);
	if (fclose(out) && rc == 0)
		rc = err_set(err, 3, "%s: %s", job.path, strerror(errno));
	return rc;
}

/* As watch_save(). */
static int write_file(struct err *err)
{
	/* The writer makes the file again, with its own mode; a copy refuses an existing one. */
	atomic_file_give_up(&job.file);
	int rc = job.format ? write_report(err) : watch_save(job.app->first, job.file.part, err);
	if (rc < 0)
		atomic_file_give_up(&job.file);
	else if (atomic_file_end(&job.file, err))
		rc = -1;
	return rc;
}

static _Noreturn void child(int fd)
{
	struct err err = { 0 };

	child_begin(-1);
	symbols_freeze(job.app->ui.shown.symbols);
	owners_forked(job.app->ui.shown.owners);
	int rc = write_file(&err);
	const char *text = err.text[0] ? err.text : "not saved";
	if (rc && write(fd, text, strlen(text)) < 0 && rc < 0)
		_exit(2);
	_exit(rc < 0);
}

static void failed(int status)
{
	bool ended = WIFEXITED(status) && WEXITSTATUS(status) == CHILD_ENDED;

	if (!job.said_len) /* it was killed, or ended: what it wrote is left */
		atomic_file_give_up(&job.file);
	status_error("%s", job.said_len ? job.said
			   : ended      ? "not saved: out of memory"
					: "not saved: the writer was killed");
}

static void on_words(void *arg, unsigned events)
{
	size_t had = job.said_len < sizeof job.said - 1 ? job.said_len : sizeof job.said - 1;
	ssize_t n = read(job.fd, job.said + had, sizeof job.said - 1 - had);
	int status = 0;

	(void)arg;
	(void)events;
	if (n > 0) {
		job.said_len += (size_t)n;
		return;
	}
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	job.said[job.said_len] = '\0';
	waitpid(job.pid, &status, 0);
	if (status == 0 && job.said_len)
		status_error("saved in part: %s: %s", job.path, job.said);
	else if (status == 0)
		status_say("saved: %s", job.path);
	else
		failed(status);
	finish();
}

static void start_child(void)
{
	int ends[2] = { -1, -1 };

	asker_settle(job.app); /* the child uses the query */
	if (!job.format)
		watch_save_begin(job.app->first);
	model_columns(job.app->ui.shown.model); /* the child has no worker to wait for */
	if (pipe2(ends, O_CLOEXEC) || (job.pid = fork()) < 0) {
		status_error("%s: not saved: %s", job.path, strerror(errno));
		if (ends[0] >= 0) {
			close(ends[0]);
			close(ends[1]);
		}
		atomic_file_give_up(&job.file);
		finish();
		return;
	}
	if (job.pid == 0)
		child(ends[1]);
	close(ends[1]);
	job.fd = ends[0];
	loop_remove(job.timer);
	job.timer = NULL;
	job.reader = loop_fd(job.app->loop, job.fd, LOOP_READ, on_words, NULL);
}

static void on_slice(void *arg)
{
	struct app *a = job.app;
	uint32_t count = model_location_count(a->ui.shown.model), left = SLICE_LOCATIONS;
	uint64_t done, asked;
	char one[32], two[32];

	(void)arg;
	if (job.asked > count) /* the session changed meanwhile */
		job.asked = 0;
	for (; job.asked < count && left; job.asked++, left--)
		symbols_of_location(a->ui.shown.symbols, job.asked);
	symbols_progress(a->ui.shown.symbols, &done, &asked);
	if (job.asked == count && done == asked) {
		start_child();
		return;
	}
	status_say("saving %s: %s of %s names resolved", job.path, format_count(one, done),
		   format_count(two, asked));
}

void saver_start(struct app *a, const struct report_format *format, const char *path)
{
	struct err err = { 0 };

	if (job.app) {
		status_error("%s: still being written; %s: not saved, try again", job.path, path);
		return;
	}
	if (format && !model_program(a->ui.shown.model)) {
		status_error("%s: not saved: the agent has not answered yet", path);
		return;
	}
	if (atomic_file_begin(&job.file, path, &err)) {
		status_error("%s", err.text);
		return;
	}
	job.app = a;
	job.format = format;
	snprintf(job.path, sizeof job.path, "%s", path);
	job.asked = 0;
	job.said_len = 0;
	job.fd = -1;
	job.timer = loop_timer(a->loop, SLICE_MS, true, on_slice, NULL);
	on_slice(NULL);
}

void saver_stop(void)
{
	if (job.app && job.fd < 0 && !job.format)
		start_child();
	if (!job.app)
		return;
	if (!job.format) {
		finish(); /* the copy ends without memtop */
		return;
	}
	if (job.fd >= 0) {
		kill(job.pid, SIGKILL);
		waitpid(job.pid, NULL, 0);
	}
	atomic_file_give_up(&job.file);
	finish();
}
