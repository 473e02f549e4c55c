/* SPDX-License-Identifier: MIT
 *
 * check.c - `memtop check`: the gate for tests. Holds a session, a live target, or a program that
 * it records itself against limits and a baseline, and ends with 1 on findings.
 *
 * The program keeps its input, output and status, as under `record`: a failure of its own comes
 * before findings, and the result goes to stderr.
 */
#include "cli/base/output.h"
#include "cli/record/recording.h"
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "base/loop.h"
#include "check/check.h"
#include "check/suppressions.h"
#include "processes/all.h"
#include "report/between.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMITS_MAX (CHECK_LIMITS * 32u)

struct gate {
	struct args a; /* with the rules of all suppression files */
	struct loop *loop;
	struct limit limits[LIMITS_MAX];
	struct check_options options;
	struct suppressions *suppressions;
	const struct check_format *format;
	struct check *check;
	struct between between;
	char folder[PATH_MAX];    /* of the recording; "" = the user named its file */
	char recording[PATH_MAX]; /* "" = no program */
};

static int read_limits(struct gate *g, struct err *err)
{
	for (unsigned kind = 0; kind < CHECK_LIMITS; kind++)
		for (size_t i = 0; i < g->a.limits[kind].count; i++) {
			if (limit_parse(&g->limits[g->options.limit_count], kind,
					g->a.limits[kind].list[i], err))
				return -1;
			g->options.limit_count++;
		}
	g->options.limits = g->limits;
	if (g->options.limit_count || g->a.baselines.count || g->a.no_growing)
		return 0;
	return err_set(err, STATUS_USAGE,
		       "check: no limit given; write --max-leaked 64K, or see memtop check --help");
}

static int read_between(struct gate *g, struct err *err)
{
	const char *text = g->a.between;

	if (!text && !g->a.limits[CHECK_GROWTH].count)
		return 0;
	if (!text)
		return err_set(err, STATUS_USAGE,
			       "--max-growth: two marks are needed; add --between m1..m2");
	if (!g->a.limits[CHECK_GROWTH].count)
		return err_set(err, STATUS_USAGE,
			       "--between: needs a limit; add --max-growth SIZE");
	g->options.between = &g->between;
	return between_parse(text, &g->between, err);
}

static int read_suppressions(struct gate *g, struct err *err)
{
	g->suppressions = suppressions_new();
	for (size_t i = 0; i < g->a.suppressions.count; i++) {
		struct err wrong = { 0 };

		if (suppressions_read(g->suppressions, g->a.suppressions.list[i], &wrong, err))
			return -1;
		if (*wrong.text)
			warn("%s", wrong.text);
	}
	g->options.suppressions = g->suppressions;
	g->a.rules = suppressions_own(g->suppressions);
	return 0;
}

static int read_format(struct gate *g, struct err *err)
{
	g->format = check_format_named(g->a.format ? g->a.format : "text");
	if (!g->format)
		return err_set(err, STATUS_USAGE,
			       "%s: no such format; use --format text, junit, json or github",
			       g->a.format);
	if (g->a.tolerance && !g->a.baselines.count)
		return err_set(err, STATUS_USAGE,
			       "--tolerance: needs a baseline; add --baseline FILE.mtop");
	if (g->a.baselines.count > CHECK_BASELINES_MAX)
		return err_set(err, STATUS_USAGE, "--baseline: %zu sessions; give %u at most",
			       g->a.baselines.count, CHECK_BASELINES_MAX);
	if (g->a.session && !g->a.program)
		return err_set(err, STATUS_USAGE,
			       "--session: works only with a program; leave the option out");
	return tolerance_parse(&g->options.tolerance,
			       g->a.tolerance ? g->a.tolerance : TOLERANCE_DEFAULT, err);
}

static int refuse_live_part_peak(const struct gate *g, const struct target *t, struct err *err)
{
	for (size_t i = 0; i < g->options.limit_count; i++)
		if (t->kind != TARGET_FILE && g->limits[i].kind == CHECK_PEAK &&
		    *g->limits[i].where)
			return err_set(err, STATUS_USAGE,
				       "--max-peak %s: the peak of a part is found in a session "
				       "file only; use memtop record first",
				       g->limits[i].text);
	return 0;
}

static int refuse_live_tree(const struct gate *g, const struct target *t, struct err *err)
{
	for (size_t i = 0; i < g->options.limit_count; i++)
		if (t->kind != TARGET_FILE && g->limits[i].tree)
			return err_set(err, STATUS_USAGE,
				       "--%s %s: all processes are summed in a session file only; "
				       "use memtop record first",
				       limit_option(g->limits[i].kind), g->limits[i].text);
	return 0;
}

static int one_watch(struct gate *g, struct watch *w, const struct process *p, bool learn,
		     struct err *err)
{
	int rc = 0;

	if (learn && watch_problem(w))
		warn("%s", watch_problem(w));
	if (learn)
		check_learn(g->check, w, p);
	else if (!g->options.between || !between_go(w, &g->between, err) || p)
		rc = check_judge(g->check, w, p, err); /* others of a tree may have them */
	else
		rc = -1;
	watch_close(w);
	return rc;
}

static int one_process(struct gate *g, const struct target *t, bool learn, struct err *err)
{
	struct watch *w = cmd_open_whole(g->loop, t, &g->a, err);

	return w ? one_watch(g, w, NULL, learn, err) : -1;
}

/*
 * A process of a tree. One that ended before memtop had read its first state has a stream without a
 * session, and its totals alone; so has the image that another program replaced.
 */
static int one_line(struct gate *g, struct processes *all, const struct target *t,
		    const struct process *p, bool learn, struct err *err)
{
	struct target stream = *t;
	struct watch *w = NULL;
	struct err none;

	if (p->recorded && p->state != PROCESS_EXECED &&
	    !processes_target(all, p->id, &stream, &none))
		w = cmd_open_whole(g->loop, &stream, &g->a, &none);
	if (w)
		return one_watch(g, w, p, learn, err);
	if (learn)
		check_learn_totals(g->check, p);
	else
		check_judge_totals(g->check, p);
	return 0;
}

static int all_as_one(struct gate *g, struct processes *tree, const struct target *t, bool alone,
		      struct err *err)
{
	struct watch_options options = { .command = true, .expected = g->a.rules };

	args_symbols(&g->a, &options.symbols);
	struct all *all = all_of_file(g->loop, tree, t, &options, err);
	int rc = 0;
	if (all)
		rc = check_judge_all(g->check, all_watch(all), all_members(all) + all_others(all),
				     alone, err);
	else
		check_judge_all_totals(g->check, processes_find(tree, PROCESS_ALL),
				       processes_count(tree));
	all_free(all);
	return rc;
}

/* All processes of a session, or the one that --process names. */
static int each_process(struct gate *g, struct processes *all, const struct target *t, bool learn,
			struct err *err)
{
	const struct process *list, *only = NULL;
	size_t n = processes_list(all, &list);
	bool alone = g->a.process && !strcmp(g->a.process, "all") && !learn;
	int rc = 0;

	if (alone)
		return all_as_one(g, all, t, true, err);
	if (g->a.process && !learn && !(only = processes_named(all, g->a.process, err)))
		return -1;
	if (only)
		return one_line(g, all, t, only, learn, err);
	for (size_t i = 0; i < n && !rc; i++)
		rc = one_line(g, all, t, &list[i], learn, err);
	if (!rc && !learn && check_wants_all(g->check))
		rc = all_as_one(g, all, t, false, err);
	if (!learn && processes_missed(all))
		check_incomplete(g->check, "Some processes found no room on the board: nothing of "
					   "them is known.");
	return rc;
}

static int walk(struct gate *g, const struct target *t, bool learn, struct err *err)
{
	struct processes *all =
		processes_new(g->loop, &(struct processes_options){ .follow = false }, err);
	struct target chosen = *t;
	int rc = all ? 0 : -1;

	if (!rc && t->kind == TARGET_FILE && processes_read(all, t->name))
		rc = each_process(g, all, t, learn, err);
	else if (!rc)
		rc = (!learn && cmd_choose_process(&g->a, all, &chosen, err)) ||
				     one_process(g, &chosen, learn, err)
			     ? -1
			     : 0;
	if (all)
		processes_free(all);
	return rc;
}

static int write_findings(void *arg, FILE *out, struct err *err)
{
	const struct gate *g = arg;

	return g->format->write(g->check, out, err);
}

/* A program keeps standard output to itself. */
static int write_result(struct gate *g, struct err *err)
{
	if (!g->a.output && g->a.program)
		return write_findings(g, stderr, err);
	return output_write(g->a.output, write_findings, g, err);
}

static int judge(struct gate *g, const struct target *t, struct err *err)
{
	return walk(g, t, false, err) || check_end(g->check, err) || write_result(g, err) ? -1 : 0;
}

static int choose_recording(struct gate *g, struct err *err)
{
	const char *slash = strrchr(g->a.operands[0], '/');

	if (g->a.session) {
		snprintf(g->recording, sizeof g->recording, "%s", g->a.session);
		return 0;
	}
	snprintf(g->folder, sizeof g->folder, "%s/memtop-check.XXXXXX", cmd_temporary("/tmp"));
	if (!mkdtemp(g->folder)) {
		err_set(err, STATUS_OURS, "%s: cannot be made: %s; set TMPDIR, or use --session",
			g->folder, strerror(errno));
		g->folder[0] = '\0';
		return -1;
	}
	snprintf(g->recording, sizeof g->recording, "%.3800s/%.200s.mtop", g->folder,
		 slash ? slash + 1 : g->a.operands[0]);
	return 0;
}

static void drop_recording(const struct gate *g)
{
	if (!*g->folder)
		return;
	unlink(g->recording);
	rmdir(g->folder);
}

/* The program's own failure wins over findings, and these over ours. */
static int check_program(struct gate *g, struct err *err)
{
	struct args recording = g->a;
	struct target t;

	if (choose_recording(g, err))
		return args_fail(err, STATUS_OURS);
	recording.output = g->recording;
	int status = record_program(&recording, true), rc = 0;
	if (!access(g->recording, R_OK))
		rc = cmd_file(g->recording, &t, err) || judge(g, &t, err) ? -1 : 0;
	drop_recording(g);
	if (rc) {
		warn("%s", err->text);
		return status ? status : err->status == STATUS_USAGE ? STATUS_USAGE : STATUS_OURS;
	}
	return status ? status : check_findings(g->check) != 0;
}

static int check_target(struct gate *g, struct err *err)
{
	struct target t;

	if (args_target(&verb_check, &g->a, &t, err) || refuse_live_part_peak(g, &t, err) ||
	    refuse_live_tree(g, &t, err))
		return args_fail(err, STATUS_USAGE);
	if (judge(g, &t, err))
		return args_fail(err, STATUS_UNREACHED);
	return check_findings(g->check) != 0;
}

static int learn_baselines(struct gate *g, struct err *err)
{
	const struct words *files = &g->a.baselines;
	struct target t;

	for (size_t i = 0; i < files->count; i++) {
		check_begin_baseline(g->check);
		if (cmd_file(files->list[i], &t, err) || walk(g, &t, true, err))
			return -1;
	}
	return 0;
}

static int run_gate(struct gate *g)
{
	struct err err = { 0 };

	if (read_limits(g, &err) || read_between(g, &err) || read_format(g, &err) ||
	    read_suppressions(g, &err))
		return args_fail(&err, STATUS_USAGE);
	if (g->a.program && !g->a.operand_count) {
		warn("check: no program or target given; see memtop check --help");
		return STATUS_USAGE;
	}
	g->options.no_growing = g->a.no_growing;
	g->options.allow_incomplete = g->a.allow_incomplete;
	g->options.allow_crash = g->a.allow_crash;
	g->options.must_end = g->a.program;
	g->options.first_only = g->a.first_only;
	g->check = check_new(&g->options);
	g->loop = cmd_loop();
	if (learn_baselines(g, &err)) {
		warn("%s", err.text);
		return g->a.program ? STATUS_OURS : STATUS_UNREACHED;
	}
	return g->a.program ? check_program(g, &err) : check_target(g, &err);
}

static int check_run(const struct args *a)
{
	struct gate *g = xcalloc(1, sizeof *g);

	g->a = *a;
	cmd_survive_writes();
	int status = run_gate(g);
	for (size_t i = 0; i < g->options.limit_count; i++)
		limit_release(&g->limits[i]);
	check_free(g->check);
	suppressions_free(g->suppressions);
	if (g->loop)
		loop_free(g->loop);
	free(g);
	return status;
}

static void complete_format(struct completion *c)
{
	for (const struct check_format *f = check_formats; f->name; f++)
		complete_add(c, f->name, "");
}

static const struct option_spec options[] = {
	OPTION(0, "max-leaked", "LIMIT", NULL, limits[CHECK_LEAKED],
	       "memory alive at the program's exit", NULL),
	OPTION(0, "max-live", "LIMIT", NULL, limits[CHECK_LIVE], "live memory at the end", NULL),
	OPTION(0, "max-peak", "LIMIT", NULL, limits[CHECK_PEAK], "live memory at its peak", NULL),
	OPTION(0, "max-blocks", "LIMIT", NULL, limits[CHECK_BLOCKS], "live blocks at the end",
	       NULL),
	OPTION(0, "max-rate", "LIMIT", NULL, limits[CHECK_RATE],
	       "bytes allocated per second, mean of the run", NULL),
	OPTION(0, "max-growth", "LIMIT", NULL, limits[CHECK_GROWTH],
	       "growth in the interval of --between", NULL),
	OPT_BETWEEN,
	OPTION(0, "no-growing", NULL, NULL, no_growing,
	       "the verdict on growth is not GROWING: no steady growth", "See VERDICT."),
	OPTION(0, "baseline", "FILE", complete_file, baselines,
	       "compare with this session; of several, the noise counts (repeatable)", NULL),
	OPTION(0, "tolerance", "PCT", NULL, tolerance,
	       "growth beyond the baseline that is no finding (" TOLERANCE_DEFAULT ")", NULL),
	OPTION(0, "suppress", "FILE", complete_file, suppressions,
	       "suppressions of memtop, LeakSanitizer or valgrind (repeatable)", "See CHECK."),
	OPTION('f', "format", "NAME", complete_format, format,
	       "text (default), junit, json or github", NULL),
	OPTION('o', "output", "FILE", complete_file, output, "write the result here", NULL),
	OPTION(0, "session", "FILE", complete_file, session, "keep the program's recording here",
	       NULL),
	OPTION(0, "allow-incomplete", NULL, NULL, allow_incomplete,
	       "a session that is not whole is no finding", NULL),
	OPTION(0, "allow-crash", NULL, NULL, allow_crash,
	       "a process that a signal ended is no error", NULL),
	OPT_PID,
	OPT_PROCESS,
	OPT_AGENT,
	OPT_AGENT_OPTIONS,
	OPT_NO_FOLLOW,
	OPT_FIRST_ONLY,
	OPT_SYMBOLS,
	OPT_SYSROOT,
	{ 0 }
};

const struct verb verb_check = {
	.name = "check",
	.synopsis = { "check [OPTION...] FILE.mtop | TARGET",
		      "check [OPTION...] [--] PROG [ARG...]" },
	.summary = "hold a session or a program against limits, for tests",
	.details =
		"LIMIT is an amount (64K, 10M, 0), or lib:NAME=AMOUNT for the memory of a "
		"library, or\nfn:NAME=AMOUNT for the stacks through a function; * in a name is "
		"any text. A name\nthat no process has is an error; fn:NAME?=AMOUNT "
		"accepts it. Limits may be repeated.\nEvery process of a session is held against "
		"them by itself, --process chooses one;\nall=AMOUNT and all:lib:NAME=AMOUNT are "
		"held "
		"against all processes together.\n\nStatus 0: all limits are kept; 1: "
		"findings; 2: usage; 3: the session cannot be read. With\na program: its own "
		"failure, else 1 on findings; the result goes to stderr or to -o.\n",
	.options = options,
	.complete = complete_target,
	.takes = TAKES_EITHER,
	.run = check_run,
};
