/* SPDX-License-Identifier: MIT
 *
 * diff.c - `memtop diff`: what changed between sessions, or between two instants of one.
 */
#include "cli/base/output.h"
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "cli/compare/compare.h"
#include "diff/formats/formats.h"
#include "session/session.h"

#include <string.h>
#include <unistd.h>

static const struct diff_format *pick_format(const struct args *a, struct err *err)
{
	const struct diff_format *found = a->format   ? diff_format_named(a->format)
					  : a->output ? diff_format_by_path(a->output)
						      : &diff_formats[0];

	if (!found && a->format)
		err_set(err, STATUS_USAGE, "--format %s: no such format; use " DIFF_FORMAT_WORDS,
			a->format);
	else if (!found)
		err_set(err, STATUS_USAGE,
			"%s: the ending chooses no format; end it in " DIFF_ENDING_WORDS
			", or give --format " DIFF_FORMAT_WORDS,
			a->output);
	return found;
}

static int pick_value(const struct args *a, enum diff_value *value, struct err *err)
{
	*value = DIFF_LIVE;
	if (!a->value)
		return 0;
	for (enum diff_value v = DIFF_LIVE; v <= DIFF_ALLOCATED; v++) {
		if (!strcmp(a->value, diff_value_name(v))) {
			*value = v;
			return 0;
		}
	}
	return err_set(err, STATUS_USAGE,
		       "--value %s: no such value; use live, blocks or allocated", a->value);
}

struct job {
	const struct diff *diff;
	const struct diff_format *format;
};

static int write_diff(void *arg, FILE *out, struct err *err)
{
	const struct job *job = arg;

	return job->format->write(job->diff, out, err);
}

/* A slip of the hand: `diff -o a.mtop b.mtop`. */
static int refuse_session(const char *path, struct err *err)
{
	if (!path || !session_file(path))
		return 0;
	return err_set(err, STATUS_USAGE,
		       "%s: is a session, which a diff does not overwrite; choose another -o",
		       path);
}

static int diff_run(const struct args *a)
{
	struct err err = { 0 };
	struct comparison c = { .count = 0 };
	const struct diff_format *f;
	enum diff_value value;

	int usage = refuse_session(a->output, &err) || compare_words(&c, a, "diff", &err) ||
		    pick_value(a, &value, &err) || !(f = pick_format(a, &err));
	int rc = usage || compare_begin(&c, a, value, &err);
	if (!rc)
		rc = output_write(a->output, write_diff, &(struct job){ c.diff, f }, &err);
	if (rc)
		rc = args_fail(&err, usage ? STATUS_USAGE : STATUS_UNREACHED);
	compare_end(&c);
	return rc;
}

static void complete_format(struct completion *c)
{
	for (const struct diff_format *f = diff_formats; f->name; f++)
		complete_add(c, f->name, f->ending);
}

static void complete_value(struct completion *c)
{
	for (enum diff_value v = DIFF_LIVE; v <= DIFF_ALLOCATED; v++)
		complete_add(c, diff_value_name(v), "");
}

static const struct option_spec options[] = {
	OPTION(0, "value", "VALUE", complete_value, value,
	       "what is compared: live (default), blocks or allocated", NULL),
	OPTION('f', "format", "NAME", complete_format, format, DIFF_FORMAT_WORDS, NULL),
	OPTION('o', "output", "FILE", complete_file, output,
	       "write here; " DIFF_ENDING_WORDS " chooses the format", NULL),
	OPTION(0, "at", "INSTANT", complete_instant, at,
	       "both sides as of a mark, peak, or 0:12:09; of an operand with @ its own", NULL),
	OPTION(0, "since", "INSTANT", complete_mark, since,
	       "one session: from this instant to its end, or to --at", NULL),
	OPTION(0, "between", "A..B", complete_marks, between,
	       "one session: from instant A to B, or over the window of a name", NULL),
	OPT_PROCESS,
	OPT_SYMBOLS,
	OPT_SYSROOT,
	{ 0 }
};

const struct verb verb_diff = {
	.name = "diff",
	.synopsis = { "diff [OPTION...] A B", "diff [OPTION...] A... -- B...",
		      "diff [OPTION...] --since INSTANT SESSION" },
	.summary = "show what changed between sessions, or between two instants",
	.details =
		"A and B are targets, or instants of them: FILE@MARK, FILE@peak, FILE@0:12:09. "
		"Without an instant\nthe last state counts. Stacks are the same where build-ids "
		"and offsets agree, else function names.\nWith two or more sessions on each side "
		"of --, differences that runs of one build have, too, are\ncalled noise.\n",
	.options = options,
	.complete = complete_compared,
	.run = diff_run,
};
