/* SPDX-License-Identifier: MIT
 *
 * report.c - `memtop report`: prints a session file or a live target as text or JSON.
 */
#include "cli/verb.h"

#include "report/formats.h"
#include "base/loop.h"
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int pick_mark(const struct model *m, const char *word, uint32_t *id, struct err *err)
{
	int found = !strcmp(word, "now")     ? 0
		    : !strcmp(word, "start") ? 0
					     : model_mark_find(m, word);

	if (found < 0)
		return err_set(err, STATUS_USAGE,
			       "%s: no mark has this name or number; the report lists the marks",
			       word);
	*id = (uint32_t)found;
	return 0;
}

/* --since M, or --between A..B; "start" is 0 as A, "now" is 0 as B. */
static int pick_changes(const struct args *a, const struct model *m, struct report_options *o,
			struct err *err)
{
	char from[128];
	const char *dots = a->between ? strstr(a->between, "..") : NULL;

	o->changes = a->since || a->between;
	if (a->since && a->between)
		return err_set(err, STATUS_USAGE,
			       "--since: cannot be combined with --between; use one of them");
	if (a->since)
		return pick_mark(m, a->since, &o->from, err);
	if (!a->between)
		return 0;
	if (!dots || dots == a->between || !dots[2] || (size_t)(dots - a->between) >= sizeof from)
		return err_set(err, STATUS_USAGE,
			       "%s: two marks are needed; write --between m1..m2", a->between);
	snprintf(from, sizeof from, "%.*s", (int)(dots - a->between), a->between);
	if (pick_mark(m, from, &o->from, err) || pick_mark(m, dots + 2, &o->to, err))
		return -1;
	return 0;
}

/* ".csv" of "out/a.csv"; NULL = it has none. */
static const char *ending(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
		   *dot = strrchr(name, '.');

	return dot && dot != name && dot[1] ? dot : NULL;
}

static const struct report_format *pick_format(const struct args *a, struct err *err)
{
	const struct report_format *f = a->format   ? formats_by_name(a->format)
					: a->output ? formats_by_path(a->output)
						    : formats_by_name("text");

	if (!f && !a->format && !ending(a->output))
		f = formats_by_name("text");
	if (!f && a->format)
		err_set(err, STATUS_USAGE, "%s: no such format; use --format text or --format json",
			a->format);
	else if (!f)
		err_set(err, STATUS_USAGE,
			"%s: no format ends in %s; end it in .txt or .json, or give --format text "
			"or json",
			a->output, ending(a->output));
	return f;
}

/*
 * Protects recordings from a mistake: `report -o a.mtop`, meant as an input or a copy, would
 * overwrite the session with text.
 */
static int refuse_session(const char *path, struct err *err)
{
	size_t len = strlen(path);

	if ((len < 5 || strcmp(path + len - 5, ".mtop")) && !session_file(path))
		return 0;
	return err_set(err, STATUS_USAGE,
		       "%s: a report is not a session; use -o FILE.txt or FILE.json, or memtop "
		       "record -o %s",
		       path, path);
}

static uint32_t id_of(const struct processes *p, const struct watch *w)
{
	const struct process *list;

	for (size_t i = 0, n = processes_list(p, &list); i < n; i++)
		if (list[i].watch == w)
			return list[i].id;
	return 0;
}

static int write_report(const struct report_format *f, struct watch *w, const struct processes *p,
			const struct args *a, struct err *err)
{
	struct report_options o = { .processes = p, .process = id_of(p, w) };
	struct owners *owners = owners_new(watch_model(w), watch_symbols(w));
	struct query *q = query_new(watch_model(w), watch_symbols(w), owners);
	FILE *out = stdout;
	int rc = pick_changes(a, watch_model(w), &o, err);

	query_expect(q, watch_expected(w));

	if (!rc && a->output && !(out = fopen(a->output, "we")))
		rc = err_set(err, STATUS_UNREACHED, "%s: cannot be written: %s; choose another -o",
			     a->output, strerror(errno));
	if (!rc)
		rc = f->write(w, q, &o, out, err);
	if (a->output && out && out != stdout && fclose(out) && !rc)
		rc = err_set(err, STATUS_UNREACHED,
			     "%s: cannot be written: %s; the file is incomplete", a->output,
			     strerror(errno));
	query_free(q);
	owners_free(owners);
	return rc;
}

static int pick(const struct args *a, struct target *t, struct err *err)
{
	if (!a->last)
		return args_target(&verb_report, a, t, err);
	if (a->operand_count || a->pid)
		return err_set(err, STATUS_USAGE,
			       "--last: cannot be combined with %s; use one of them",
			       a->pid ? "-p" : a->operands[0]);
	return cmd_newest(t, err);
}

static struct watch *open_one(struct loop *loop, struct processes *p, struct target *t,
			      const struct args *a, struct err *err)
{
	if (cmd_choose_process(a, p, t, err))
		return NULL;
	struct watch *w = cmd_open_whole(loop, t, a, err);
	if (w)
		processes_first(p, 0, w);
	return w;
}

static int report_run(const struct args *a)
{
	struct target t;
	struct err err = { 0 };
	const struct report_format *f;

	if (pick(a, &t, &err) || (a->output && refuse_session(a->output, &err)) ||
	    !(f = pick_format(a, &err)))
		return args_fail(&err, STATUS_USAGE);
	struct loop *loop = cmd_loop();
	struct processes *p =
		processes_new(loop, &(struct processes_options){ .follow = false }, &err);
	struct watch *w = open_one(loop, p, &t, a, &err);
	if (w && t.kind == TARGET_FILE && watch_problem(w))
		warn("%s", watch_problem(w)); /* of a cut file: reports what was saved */
	int rc = w ? write_report(f, w, p, a, &err) : -1;

	if (rc)
		rc = args_fail(&err, STATUS_UNREACHED);
	processes_free(p);
	if (w)
		watch_close(w);
	loop_free(loop);
	return rc;
}

static const char *const synopsis[] = { "report [OPTION...] TARGET", "report [OPTION...] --last",
					NULL };
static const struct option_spec opt_format = {
	'f', "format", "NAME", "text (default) or json", offsetof(struct args, format), false
};
static const struct option_spec opt_output = {
	'o',
	"output",
	"FILE",
	"write here; the ending .json or .txt chooses the format",
	offsetof(struct args, output),
	false
};
static const struct option_spec opt_since = {
	0, "since", "MARK", "add what changed since this mark", offsetof(struct args, since), false
};
static const struct option_spec opt_between = { 0,
						"between",
						"A..B",
						"add what changed between two marks",
						offsetof(struct args, between),
						false };
static const struct option_spec *const options[] = { &opt_format,   &opt_output,  &opt_since,
						     &opt_between,  &opt_pid,     &opt_last,
						     &opt_process,  &opt_symbols, &opt_sysroot,
						     &opt_suppress, NULL };

const struct verb verb_report = {
	.name = "report",
	.synopsis = synopsis,
	.summary = "print a report of a session file or of a live target",
	.details = "MARK is a name or a number (m2); A and B may also be start and now. For a "
		   "session of several\nprocesses the report begins with their table, then covers "
		   "the one that allocated most, or\n--process.\n",
	.options = options,
	.run = report_run,
};
