/* SPDX-License-Identifier: MIT
 *
 * cmd_attach.c - `memtop attach PID`: load the agent into a process that runs without it, and watch it live as
 * `memtop -p PID` does. `--no-view` is for scripts: it prints one line once the agent counts.
 */
#include "cmd.h"

#include "attach.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int parse(const struct args *a, struct target *t, struct err *err)
{
	const char *word = a->pid ? a->pid : a->operand_count ? a->operands[0] : NULL;

	if (!word)
		return err_set(err, STATUS_USAGE, "attach: a process is missing; use memtop attach PID");
	if (a->operand_count + (a->pid != NULL) > 1)
		return err_set(err, STATUS_USAGE, "%s: one process is enough; see memtop attach --help",
			       a->operands[a->pid ? 0 : 1]);
	if (target_parse_pid(word, t, NULL))
		return err_set(err, STATUS_USAGE, "attach %s: not a process id; use the number that ps or pgrep shows", word);
	return 0;
}

static int attach_run(const struct args *a)
{
	struct attach_options options = { .agent = a->agent, .options = a->options };
	struct attached done;
	struct err err = { 0 };
	struct target t;
	double max_overhead;

	if (args_max_overhead(a, &max_overhead, &err) || parse(a, &t, &err))
		return args_fail(&err, STATUS_USAGE);
	if (!a->no_view && !cmd_terminal(&err, STATUS_USAGE, "attach", "memtop attach --no-view PID"))
		return args_fail(&err, STATUS_USAGE);
	cmd_survive_sigpipe();
	if (attach(t.pid, &options, &done, &err))
		return args_fail(&err, STATUS_UNREACHED);
	if (*done.note)
		warn("%s", done.note);
	if (!a->no_view)
		return cmd_view(a, &done.target);
	printf("%d %s: the agent counts; %s thread was held for %.1f ms; watch it with memtop %s\n", t.pid, done.name,
	       done.idle ? "a waiting" : "a running", (double)done.stopped_ns / 1e6, done.target.text);
	return 0;
}

static const char *const synopsis[] = { "attach [OPTION...] PID", "attach --no-view [OPTION...] PID", NULL };
static const struct option_spec opt_no_view = { 0, "no-view", NULL, "load the agent, print one line, and end",
						offsetof(struct args, no_view), false };
static const struct option_spec *const options[] = { &opt_no_view, &opt_pid, &opt_agent, &opt_agent_options, &opt_symbols,
						     &opt_sysroot, &opt_theme, &opt_ascii, &opt_max_overhead, &opt_suppress,
						     &opt_detach, NULL };

const struct verb verb_attach = {
	.name = "attach",
	.synopsis = synopsis,
	.summary = "load the agent into a running process and watch it",
	.details = "One thread of the process is held for some milliseconds, at a point where it holds\n"
		   "no lock of the allocator or the loader, and calls dlopen there. Blocks from before\n"
		   "are not known; all from then on are. memtop detach PID takes the agent out again.\n",
	.options = options,
	.run = attach_run,
};
