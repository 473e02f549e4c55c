/* SPDX-License-Identifier: MIT
 *
 * attach.c - `memtop attach PID`: load the agent into a process that runs without it, and watch it
 * live as `memtop -p PID` does. `--no-view` is for scripts: it prints one line once the agent
 * counts. `--jdwp` goes by the debug port of a Java program instead of ptrace.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "attach/attach.h"

#include <stdlib.h>
#include <string.h>

/* t->pid: 0 when none was named, which --jdwp allows. */
static int parse(const struct args *a, struct target *t, struct err *err)
{
	const char *word = a->pid ? a->pid : a->operand_count ? a->operands[0] : NULL;

	*t = (struct target){ .kind = TARGET_PID };
	if (!word && a->jdwp)
		return 0;
	if (!word)
		return err_set(err, STATUS_USAGE,
			       "attach: no process given; use memtop attach PID");
	if (a->operand_count + (a->pid != NULL) > 1)
		return err_set(err, STATUS_USAGE,
			       "%s: only one process can be given; see memtop attach --help",
			       a->operands[a->pid ? 0 : 1]);
	if (target_parse_pid(word, t, NULL))
		return err_set(err, STATUS_USAGE,
			       "attach %s: not a process id; use the number that ps or pgrep shows",
			       word);
	return 0;
}

static int parse_jdwp(const struct args *a, struct target *port, int *timeout_ms, struct err *err)
{
	char word[300];

	if (!a->jdwp && (a->break_at || a->timeout))
		return err_set(err, STATUS_USAGE,
			       "--%s: works only with --jdwp; see memtop attach --help",
			       a->break_at ? "break" : "timeout");
	if (!a->jdwp)
		return 0;
	snprintf(word, sizeof word, "%s%s",
		 strspn(a->jdwp, "0123456789") == strlen(a->jdwp) ? ":" : "", a->jdwp);
	if (target_parse(word, port, NULL) || port->kind != TARGET_TCP)
		return err_set(err, STATUS_USAGE, "--jdwp %s: not a port; write --jdwp 5005",
			       a->jdwp);
	if (a->options)
		return err_set(
			err, STATUS_USAGE,
			"--options: --jdwp cannot pass options to the agent; start the program "
			"with MEMTOP_OPTIONS in its environment, or use memtop attach PID");
	return args_timeout(a, timeout_ms, err);
}

static void waiting(void *arg, const char *what)
{
	const struct args *a = arg;

	warn("--jdwp %s: waiting for %s, %s s at most; ^C gives up", a->jdwp, what,
	     a->timeout ? a->timeout : TIMEOUT_DEFAULT);
}

static int by_port(const struct args *a, const struct target *port, pid_t pid, int timeout_ms,
		   struct attached *done, struct err *err)
{
	struct attach_jdwp_options options = { .port = port,
					       .pid = pid,
					       .agent = a->agent,
					       .break_at = a->break_at,
					       .timeout_ms = timeout_ms,
					       .waiting = waiting,
					       .arg = (void *)(uintptr_t)a };

	if (getenv("MEMTOP_OPTIONS"))
		warn("MEMTOP_OPTIONS: ignored with --jdwp; the program's own environment counts");
	return attach_jdwp(&options, done, err);
}

static int attach_run(const struct args *a)
{
	struct attach_options options = { .agent = a->agent, .options = a->options };
	struct attached done;
	struct err err = { 0 };
	struct target t, port;
	double max_overhead;
	int timeout_ms = 0;

	if (args_of_view(a, &max_overhead, &err) || parse(a, &t, &err) ||
	    parse_jdwp(a, &port, &timeout_ms, &err))
		return args_fail(&err, STATUS_USAGE);
	if (!a->no_view &&
	    !cmd_terminal(&err, STATUS_USAGE, "attach", "memtop attach --no-view PID"))
		return args_fail(&err, STATUS_USAGE);
	cmd_survive_writes();
	if (a->jdwp ? by_port(a, &port, t.pid, timeout_ms, &done, &err)
		    : attach_program(t.pid, &options, &done, &err))
		return args_fail(&err, STATUS_UNREACHED);
	if (*done.note)
		warn("%s", done.note);
	if (!a->no_view)
		return cmd_view(a, &done.target);
	printf("%d %s: the agent counts; %s thread was held for %.1f ms; watch it with memtop %s\n",
	       done.pid, done.name,
	       a->jdwp     ? "a Java"
	       : done.idle ? "a waiting"
			   : "a running",
	       (double)done.stopped_ns / 1e6, done.target.text);
	return 0;
}

static const struct option_spec options[] = {
	OPTION(0, "no-view", NULL, NULL, no_view, "load the agent, print one line, and exit", NULL),
	OPTION(0, "jdwp", "PORT", NULL, jdwp, "use the debug port of a Java program, not ptrace",
	       NULL),
	OPT_BREAK,
	OPT_TIMEOUT,
	OPT_PID,
	OPT_AGENT,
	OPT_AGENT_OPTIONS,
	OPTS_OF_VIEW,
	OPT_DETACH,
	{ 0 }
};

const struct verb verb_attach = {
	.name = "attach",
	.synopsis = { "attach [OPTION...] PID", "attach --no-view [OPTION...] PID",
		      "attach --jdwp PORT [OPTION...] [PID]" },
	.summary = "load the agent into a running process and watch it",
	.details = "memtop stops one thread for some milliseconds, where it holds no lock of the "
		   "allocator or\nthe loader, and makes it call dlopen. Blocks from before are "
		   "unknown; all later blocks are\ncounted. memtop detach PID takes the agent out "
		   "again.\n\n--jdwp PORT needs no right to trace: it uses the debug port of a "
		   "Java program that runs "
		   "with\n-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=PORT. The "
		   "first thread that\nruns Java code, or that calls the method of --break, loads "
		   "the agent by System.load(). The\nagent takes its options from the program's "
		   "own MEMTOP_OPTIONS.\n",
	.options = options,
	.complete = complete_other_pid,
	.run = attach_run,
};
