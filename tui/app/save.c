/* SPDX-License-Identifier: MIT
 *
 * save.c - w: asks for a file name; app/saver.c writes the session or a report, by the name's
 * extension.
 */
#include "app/actions.h"
#include "base/atomic_file.h"
#include "base/sanitize.h"
#include "diff/formats/formats.h"
#include "diff/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *save_path(const char *typed, char out[PATH_MAX])
{
	const char *home = getenv("HOME");

	if (!home || typed[0] != '~' || (typed[1] && typed[1] != '/') ||
	    (size_t)snprintf(out, PATH_MAX, "%s%s", home, typed + 1) >= PATH_MAX)
		return typed;
	return out;
}

static int write_diff(const struct diff *d, const struct diff_format *f, const char *path,
		      struct err *err)
{
	struct replacement file;

	if (atomic_file_begin(&file, path, err))
		return -1;
	FILE *out = fopen(file.part, "we");
	int rc = out ? f->write(d, out, err) : -1;
	if ((!out || fclose(out)) && (!out || !rc))
		rc = err_set(err, 3, "%s: cannot be written: %s; choose another name", path,
			     strerror(errno));
	if (!rc)
		return atomic_file_end(&file, err);
	atomic_file_give_up(&file);
	return -1;
}

static void save_diff(const struct diff *d, const char *path)
{
	const struct diff_format *f = diff_format_by_path(path);
	struct err err = { 0 };

	if (!f)
		status_error("%s: unknown format; end the name in " DIFF_ENDING_WORDS, path);
	else if (write_diff(d, f, path, &err))
		status_error("%s", err.text);
	else
		status_say("saved: %s", path);
}

void save_as(struct app *a, const char *path)
{
	if (a->options->diff) {
		save_diff(a->options->diff->d, path);
		return;
	}
	const char *dot = strrchr(path, '.');
	const struct report_format *format = formats_by_path(path);

	if (dot && !strcmp(dot, ".supp")) {
		expect_save(&a->ui, path);
		return;
	}
	if (!format && (!dot || strcmp(dot, ".mtop"))) {
		char endings[256];
		status_error("%s: unknown format; end the name in .mtop, .supp, %s", path,
			     formats_endings(endings, sizeof endings));
		return;
	}
	saver_start(a, format, path);
}

static char pending[PATH_MAX];

static void overwriting(void *arg, enum prompt_event e, const char *text)
{
	(void)text;
	if (e == PROMPT_DONE)
		save_as(arg, pending);
	else
		status_say("not saved");
}

static void naming(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;
	char path[PATH_MAX];

	if (e != PROMPT_DONE || !*text)
		return;
	text = save_path(text, path);
	if (access(text, F_OK)) {
		save_as(a, text);
		return;
	}
	snprintf(pending, sizeof pending, "%s", text);
	prompt_ask(&a->ui.prompt, "The file exists.  o: overwrite   Esc: keep it", "o", overwriting,
		   a);
}

void save_ask(struct app *a)
{
	if (a->options->diff) {
		prompt_line(&a->ui.prompt,
			    "Save the diff as (" DIFF_ENDING_WORDS "): ", "diff.html", naming, a);
		return;
	}
	const struct program *p = model_program(a->ui.shown.model);
	char name[128], when[32], program[64];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof when, "%H%M%S", &tm);
	sanitize_clean(program, sizeof program, p && *p->name ? p->name : "memtop");
	snprintf(name, sizeof name, "%s-%s.mtop", program, when);
	prompt_line(&a->ui.prompt,
		    "Save as (.mtop session, .txt .json .pb.gz ... report, .supp): ", name, naming,
		    a);
	prompt_offers(&a->ui.prompt);
}
