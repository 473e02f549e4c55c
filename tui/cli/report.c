/* SPDX-License-Identifier: MIT
 *
 * report.c - `memtop report`: writes a session file or a live target in one of the formats.
 */
#include "cli/base/output.h"
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "report/formats/formats.h"
#include "report/between.h"
#include "report/report.h"
#include "base/loop.h"
#include "link/goto_instant.h"
#include "session/session.h"

#include <memtop/amount.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --since M, --between A..B, or --between WINDOW; "start" is 0 as A, "now" is 0 as B. */
static int pick_changes(const struct args *a, const struct model *m, struct report_options *o,
			struct err *err)
{
	struct between b;

	o->changes = a->since || a->between;
	if (a->since && a->between)
		return err_set(err, STATUS_USAGE,
			       "--since: cannot be combined with --between; use one of them");
	if (a->since)
		return between_mark(m, a->since, &o->from, err);
	if (!a->between)
		return 0;
	return between_parse(a->between, &b, err) || between_find(m, &b, o, err) ? -1 : 0;
}

/* Instants among the ends of the interval: before --at, which is another one. */
static int go_ends(const struct args *a, struct watch *w, struct err *err)
{
	struct between b;

	if (a->since)
		return goto_end(w, a->since, 0, err);
	if (!a->between)
		return 0;
	return between_parse(a->between, &b, err) || between_go(w, &b, err) ? -1 : 0;
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
		err_set(err, STATUS_USAGE, "%s: no such format; use one of these:", a->format);
	else if (!f)
		err_set(err, STATUS_USAGE,
			"%s: no format ends in %s; use one of these, or --format NAME:", a->output,
			ending(a->output));
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
		       "%s: a report is not a session; give -o another ending, or use memtop "
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

#define STACKS_MOST 1000000000u

/* --stacks */
static int pick_stacks(const struct args *a, struct report_options *o, struct err *err)
{
	const char *text = a->stacks;
	uint64_t n = 0;

	if (!text)
		return 0;
	if (mtw_amount(text, MTW_AMOUNT_COUNT, &n) && n && n < STACKS_MOST)
		o->stacks = n;
	else
		o->stacks = !strcmp(text, "all")    ? STACKS_ALL
			    : !strcmp(text, "live") ? STACKS_LIVE
						    : STACKS_DEFAULT;
	if (o->stacks)
		return 0;
	return err_set(err, STATUS_USAGE,
		       "--stacks %s: no choice of stacks; write live, all or a number", text);
}

struct job {
	const struct report_format *format;
	struct watch *watch;
	struct query *query;
	const struct report_options *options;
};

static int write_format(void *arg, FILE *out, struct err *err)
{
	const struct job *j = arg;

	return j->format->write(j->watch, j->query, j->options, out, err);
}

static int write_report(const struct report_format *f, const struct source *s, const struct args *a,
			struct report_options *o, struct err *err)
{
	struct watch *w = s->watch;

	o->processes = s->processes;
	o->process = id_of(s->processes, w);
	o->all = s->all;
	if (pick_changes(a, watch_model(w), o, err))
		return -1;
	struct owners *owners = owners_new(watch_model(w), watch_symbols(w));
	struct query *q = query_new(watch_model(w), watch_symbols(w), owners);
	query_expect(q, watch_expected(w));
	int rc = output_write(a->output, write_format, &(struct job){ f, w, q, o }, err);
	query_free(q);
	owners_free(owners);
	return rc;
}

/* Before anything is read: what the options contradict, and their values. */
static int check(const struct args *a, const struct report_format *f, struct report_options *o,
		 struct err *err)
{
	if ((!a->output || !strcmp(a->output, "-")) && f->binary && isatty(STDOUT_FILENO))
		return err_set(err, STATUS_USAGE, "--format %s: not for a terminal; use -o FILE%s",
			       f->name, f->ending);
	if (a->value && strcmp(f->name, "folded"))
		return err_set(err, STATUS_USAGE,
			       "--value: works only with folded; %s has no choice of values",
			       f->name);
	if (a->stacks && strcmp(f->name, "json") && strcmp(f->name, "csv"))
		return err_set(err, STATUS_USAGE,
			       "--stacks: works only with json and csv; %s has no choice of stacks",
			       f->name);
	if (a->full && strcmp(f->name, "text"))
		return err_set(err, STATUS_USAGE, "--full: only text leaves frames out; %s has all",
			       f->name);
	o->full = a->full;
	if (a->value && report_value_by_name(a->value, &o->value, err))
		return -1;
	return pick_stacks(a, o, err);
}

static int pick(const struct args *a, struct target *t, struct err *err)
{
	if (!a->last)
		return args_target(&verb_report, a, t, err);
	if (a->pid)
		return err_set(err, STATUS_USAGE,
			       "--last: cannot be combined with -p; write --last %s", a->pid);
	return cmd_newest(a, t, err);
}

static int report_run(const struct args *a)
{
	struct target t;
	struct err err = { 0 };
	const struct report_format *f;
	struct report_options o = { 0 };

	if (a->format && !strcmp(a->format, "help")) {
		formats_list(stdout);
		return 0;
	}
	if (a->output && refuse_session(a->output, &err))
		return args_fail(&err, STATUS_USAGE);
	if (!(f = pick_format(a, &err))) {
		args_fail(&err, STATUS_USAGE);
		formats_list(stderr);
		return STATUS_USAGE;
	}
	if (check(a, f, &o, &err) || pick(a, &t, &err))
		return args_fail(&err, STATUS_USAGE);
	struct loop *loop = cmd_loop();
	struct source s = { 0 };
	int rc = cmd_open_source(loop, &s, &t, a, &err);
	if (!rc && t.kind == TARGET_FILE && watch_problem(s.watch))
		warn("%s", watch_problem(s.watch)); /* of a cut file: reports what was saved */
	if (rc || go_ends(a, s.watch, &err) || (a->at && goto_instant(s.watch, a->at, &err)) ||
	    write_report(f, &s, a, &o, &err))
		rc = args_fail(&err, STATUS_UNREACHED);
	cmd_close_source(&s);
	loop_free(loop);
	return rc;
}

static void complete_format(struct completion *c)
{
	const struct report_format *f;

	for (size_t i = 0; (f = formats_at(i)); i++)
		complete_add(c, f->name, f->about);
}

static void complete_value(struct completion *c)
{
	for (enum report_value v = VALUE_LIVE; v < VALUE_COUNT; v++)
		complete_add(c, report_value_name(v), "");
}

static void complete_stacks(struct completion *c)
{
	complete_add(c, "live", "those with live blocks");
	complete_add(c, "all", "");
}

static const struct option_spec options[] = {
	OPTION('f', "format", "NAME", complete_format, format,
	       "text (default), json, folded, pprof ...; help lists them", NULL),
	OPTION('o', "output", "FILE", complete_file, output,
	       "write here; the ending chooses the format", NULL),
	OPTION(0, "at", "INSTANT", complete_instant, at,
	       "as of a mark, peak, or 0:12:09 since the start", NULL),
	OPTION(0, "value", "VALUE", complete_value, value,
	       "folded: live (default), blocks, allocated, allocations, temporary, growth",
	       "temporary counts bytes allocated and freed again."),
	OPTION(0, "full", NULL, NULL, full, "text: every frame, and names in full length", NULL),
	OPTION(0, "stacks", "WHICH", complete_stacks, stacks,
	       "json, csv: live (json's default), all (csv's), or so many, the heaviest", NULL),
	OPTION(0, "since", "INSTANT", complete_mark, since,
	       "what changed since a mark, peak, or 0:12:09", NULL),
	OPT_BETWEEN,
	OPT_PID,
	OPT_LAST,
	OPT_PROCESS,
	OPT_SYMBOLS,
	OPT_SYSROOT,
	OPT_SUPPRESS,
	{ 0 }
};

const struct verb verb_report = {
	.name = "report",
	.synopsis = { "report [OPTION...] TARGET", "report [OPTION...] --last [PROGRAM|PID]" },
	.summary = "print a report of a session file or of a live target",
	.details = "MARK is a name or a number (m2); A and B may also be start and now. text and "
		   "json have\nthe change beside all else, the other formats show the change "
		   "alone. For "
		   "a session of\nseveral processes the report begins with their table, then "
		   "covers all of them,\nthe one that allocated most, or --process.\n",
	.options = options,
	.complete = complete_target,
	.run = report_run,
};
