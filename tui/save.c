/* SPDX-License-Identifier: MIT
 *
 * save.c - w: the session or a report into a file; the ending of its name says which. It is
 * written beside its name and renamed when it is whole, so that a full disk leaves no half of one.
 * The session is copied as it lies on the disk; reports take longer: saver.c.
 */
#include "actions.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int write_session(struct app *a, const char *path, struct err *err)
{
	char *part = xasprintf("%s.part", path);
	int rc;

	unlink(part);
	rc = watch_save(a->watch, part, err);
	if (rc == 0 && rename(part, path))
		rc = err_set(err, 3, "%s: %s", path, strerror(errno));
	if (rc)
		unlink(part);
	free(part);
	return rc;
}

void action_save_as(struct app *a, const char *path)
{
	struct err err = { 0 };
	const char *dot = strrchr(path, '.');
	const struct export_format *format = export_by_path(path);

	if (!format && (!dot || strcmp(dot, ".mtop"))) {
		status_error("%s: which format? end the name in .mtop, .json or .txt", path);
		return;
	}
	if (format)
		saver_start(a, format, path);
	else if (write_session(a, path, &err))
		status_error("%s", err.text[0] ? err.text : "not saved");
	else
		status_say("saved: %s", path);
}

static char pending[PATH_MAX];

static void overwriting(void *arg, enum prompt_event e, const char *text)
{
	(void)text;
	if (e == PROMPT_DONE)
		action_save_as(arg, pending);
	else
		status_say("not saved");
}

static void naming(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;

	if (e != PROMPT_DONE || !*text)
		return;
	if (access(text, F_OK)) {
		action_save_as(a, text);
		return;
	}
	snprintf(pending, sizeof pending, "%s", text);
	prompt_ask(&a->prompt, "It exists.  o: overwrite   Esc: keep it", "o", overwriting, a);
}

void action_save(struct app *a)
{
	const struct program *p = model_program(a->model);
	const char *exe = p && p->exe ? p->exe : "memtop", *slash = strrchr(exe, '/');
	char name[128], when[32];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof when, "%H%M%S", &tm);
	snprintf(name, sizeof name, "%.60s-%s.mtop", slash && slash[1] ? slash + 1 : exe, when);
	prompt_line(&a->prompt, "Save as (.mtop session, .json or .txt report): ", name, naming, a);
}
