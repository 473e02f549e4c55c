/* SPDX-License-Identifier: MIT
 *
 * run.c - `memtop run PROG`: start a program under the agent and watch it live.
 *
 * The program gets its own session, so that ^C in the view never reaches it. Its output goes into
 * an unnamed file, not a pipe: when memtop ends, the program gets neither SIGPIPE nor SIGHUP. The
 * Output view follows that file.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "launch/launch.h"
#include "base/loop.h"
#include "process/process_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* An unlinked file on disk: the output of a day may not fit into memory. */
static int output_file(struct err *err)
{
	const char *tmp = cmd_temporary("/var/tmp");
	char path[512];

	int fd = open(tmp, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "%s/memtop-output-XXXXXX", tmp);
	fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, STATUS_OURS,
			       "run: no file for the program's output in %s: %s; set TMPDIR", tmp,
			       strerror(errno));
	unlink(path);
	return fd;
}

struct running {
	struct watch *watch;
	struct processes *processes;
	struct loop_source *signal;
	pid_t pid, watched; /* watched: another process, where memtop started a launcher */
	int wait_status;
	bool ended;
	bool stopped; /* asked to end from the view */
};

static void reap(void *arg)
{
	struct running *r = arg;
	int status;

	if (r->ended || waitpid(r->pid, &status, WNOHANG) != r->pid)
		return;
	r->ended = true;
	r->wait_status = status;
	if (r->watched == r->pid)
		watch_child_ended(r->watch, status);
	processes_first_ended(r->processes, status);
}

/* The program's status if it ended during the view; else the view's result. */
static int status_of(const struct running *r, int view_status)
{
	if (!r->ended)
		return view_status;
	return WIFSIGNALED(r->wait_status) ? 128 + WTERMSIG(r->wait_status)
					   : WEXITSTATUS(r->wait_status);
}

/* Of the tree, when the first has ended: those that run on. */
static void say_what_runs(const struct processes *p, const char *program, bool stopped)
{
	const struct process *list;
	size_t n = processes_list(p, &list), running = 0, first = 0;

	for (size_t i = n; i-- > 0;)
		if (process_runs(&list[i]) && list[i].pid) {
			running++;
			first = i;
		}
	if (running && stopped)
		warn("%s: ended; SIGTERM was also sent to %zu of its processes: %s is process %d",
		     program, running, list[first].name, list[first].pid);
	else if (running)
		warn("%s: ended; %zu of its processes run on; memtop -p %d watches %s again, kill "
		     "%d ends it",
		     program, running, list[first].pid, list[first].name, list[first].pid);
}

/* kept: its last state is in the session that memtop keeps. */
static void say_what_became(const struct running *r, const struct processes *p, const char *program,
			    bool kept)
{
	int pid = (int)r->pid;

	if (!r->ended && r->stopped)
		warn("%s: SIGTERM was sent to process %d; kill -9 %d if it does not end", program,
		     pid, pid);
	else if (!r->ended)
		warn("%s: runs on as process %d; memtop -p %d watches it again, kill %d ends it",
		     program, pid, (int)r->watched, pid);
	else if (r->stopped && kept)
		warn("%s: ended; memtop open --last %d shows its last state", program,
		     (int)r->watched);
	if (r->ended)
		say_what_runs(p, program, r->stopped);
}

static int view(struct loop *loop, const struct args *a, struct processes *p,
		const struct processes_options *options, const struct launched *l, int output_fd,
		struct err *err)
{
	struct tui_options tui = cmd_tui_options(a);
	struct running r = { .pid = l->pid, .processes = p };
	struct target t;

	tui.child = true;
	tui.child_pid = l->pid;
	tui.stopped = &r.stopped;
	tui.ended = &r.ended;
	tui.output_fd = output_fd;
	if (cmd_launched_target(loop, a, l, p, NULL, &t, err)) {
		processes_free(p);
		return args_fail(err, STATUS_OURS);
	}
	r.watched = t.pid;
	r.watch = watch_open(loop, &t, &options->watch, err);
	if (!r.watch)
		return args_fail(err, STATUS_OURS);
	watch_note(r.watch, l->note);
	cmd_note_rules(a, r.watch);
	processes_first(p, l->pid, r.watch);
	r.signal = loop_signal(loop, SIGCHLD, reap, &r);
	reap(&r);
	int status = tui_run(loop, p, &tui);
	reap(&r);
	loop_remove(r.signal);
	cmd_say_unsaved(r.watch);
	bool kept = model_final(watch_model(r.watch)) && watch_spool_path(r.watch) &&
		    !watch_unsaved(r.watch);
	say_what_became(&r, p, a->operands[0], kept);
	processes_free(p);
	watch_close(r.watch);
	return status_of(&r, status);
}

static int run_run(const struct args *a)
{
	struct launch_options launching = {
		.agent = a->agent,
		.options = a->options,
		.stdin_path = a->stdin_path,
		.own_session = true,
	};
	struct processes_options options = { .follow = !a->no_follow,
					     .agent = a->agent,
					     .keep_ended = true,
					     .watch = { .spool = args_keep(a),
							.paced = true,
							.wait = true,
							.expected = a->rules } };
	struct launched l;
	struct err err = { 0 };

	double max_overhead;

	if (args_of_view(a, &max_overhead, &err))
		return args_fail(&err, STATUS_USAGE);
	if (!a->operand_count) {
		warn("run: no program given; see memtop run --help");
		return STATUS_USAGE;
	}
	if (!cmd_terminal(&err, STATUS_OURS, "run", "memtop record -- PROG"))
		return args_fail(&err, STATUS_OURS);
	cmd_survive_writes();
	int output_fd = output_file(&err);
	launching.output = (int[2]){ output_fd, output_fd };
	args_symbols(a, &options.watch.symbols);
	struct loop *loop = cmd_loop();
	struct processes *p = output_fd < 0 ? NULL : processes_new(loop, &options, &err);
	launching.board = p && !a->no_follow ? processes_board(p) : NULL;
	if (!p || launch_program(a->operands, &launching, &l, &err))
		return args_fail(&err, STATUS_OURS);
	int status = view(loop, a, p, &options, &l, output_fd, &err);

	launch_end(&l);
	loop_free(loop);
	close(output_fd);
	return status;
}

static const struct option_spec options[] = { OPTION(0, "stdin", "FILE", complete_file, stdin_path,
						     "the program reads this (else /dev/null)",
						     NULL),
					      OPT_AGENT,
					      OPT_AGENT_OPTIONS,
					      OPT_NO_FOLLOW,
					      OPTS_OF_VIEW,
					      { 0 } };

const struct verb verb_run = {
	.name = "run",
	.synopsis = { "run [OPTION...] [--] PROG [ARG...]" },
	.summary = "start a program and watch it live",
	.details = "The program has its own session; its output is in the Output view (8). memtop "
		   "also follows\nthe processes that it starts: P lists them. When you quit, "
		   "memtop asks whether to leave them\nrunning.\n",
	.options = options,
	.takes = TAKES_PROGRAM,
	.run = run_run,
};
