/* SPDX-License-Identifier: MIT
 *
 * record.c - `memtop record`: writes a session file, without a screen, of a program that it starts
 * or of a running agent.
 *
 * A script sees no difference when `record` runs its program: the program inherits everything, and
 * its status becomes memtop's. So a failed recording neither ends the program nor hides its status;
 * it prints one line on stderr. ^C reaches the program from the terminal, and memtop waits for it
 * to end. SIGTERM ends memtop alone: it closes the file, and the program runs on. A terminal that
 * closes signals both (SIGHUP), so there the program starts with that signal ignored.
 *
 * The program's children are recorded into the same file (processes/processes.h). When some of them
 * outlive the program, the recording goes on until they end or the user ends it; otherwise only the
 * start of a daemon would be recorded. --first-only and --no-follow end it with the program.
 *
 * Until the recording is over the child's end is only observed (WNOWAIT): while the child is a
 * zombie, no other process can take its pid and pass the check of the agent's credentials.
 */
#include "cli/record/recording.h"
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "base/format.h"
#include "base/loop.h"
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <memtop/amount.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_MS 200
#define NS 1000000000ull
#define FOR_MAX_S 4000000

static void on_stop(void *arg)
{
	((struct recording *)arg)->stop = true;
}

static void on_time(void *arg)
{
	struct recording *r = arg;

	r->time_ns = now_ns();
	r->stop = r->stop || !r->watch; /* a launcher has executed nothing with an agent yet */
}

static void on_hangup(void *arg)
{
	struct recording *r = arg;
	int pid = (int)r->pid;

	r->stop = true;
	if (!pid || r->ended || !r->watch)
		return;
	char *text = xasprintf("%s. The program runs on as process %d: memtop -p %d watches it "
			       "again, kill %d ends it.",
			       r->terminal ? "The recording ended when the terminal was closed"
					   : "SIGHUP ended the recording",
			       pid, (int)r->watched, pid);
	watch_note(r->watch, text);
	free(text);
}

/* ^C and ^\ reach the program from the terminal. After its end memtop obeys them, because other
 * processes of its tree may not get them. */
static void on_key(void *arg)
{
	struct recording *r = arg;

	r->stop = r->stop || r->ended;
}

/* The status in waitpid()'s form. */
static int wait_status(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED ? info->si_status << 8 : info->si_status;
}

static void on_child(void *arg)
{
	struct recording *r = arg;
	siginfo_t info = { 0 };

	if (!r->pid || r->ended || waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT))
		return;
	if (info.si_pid == r->pid) {
		r->ended = true;
		r->ended_ns = now_ns();
		r->status = wait_status(&info);
		if (r->processes)
			processes_first_ended(r->processes, r->status);
	}
}

/* There is no prompt here, so sampling needs prior permission. */
static void keep_budget(struct recording *r)
{
	double cost;
	uint64_t sample;
	char rate[FORMAT_NUMBER], value[32];

	if (!watch_live(r->watch) ||
	    !budget_exceeded(&r->budget, watch_model(r->watch), &cost, &sample))
		return;
	if (!r->budget_said)
		record_progress_clear(r);
	if (r->allow_sampling && sample) {
		snprintf(value, sizeof value, "%llu", (unsigned long long)sample);
		watch_set_option(r->watch, "sample", value);
		warn("the agent took %.1f %% of the program's cpu time, --max-overhead is %.3g; it "
		     "samples every %s from now on",
		     cost, r->budget.percent, format_bytes(rate, sample));
	} else if (!r->budget_said) {
		warn("the agent took %.1f %% of the program's cpu time, --max-overhead is %.3g; %s",
		     cost, r->budget.percent,
		     r->allow_sampling
			     ? "sampling less would save no more time"
			     : "it still records every block; --allow-sampling lets it sample");
		r->budget_said = true;
	}
}

static void on_poll(void *arg)
{
	struct recording *r = arg;

	on_child(r);
	if (!r->watch)
		return; /* a launcher has executed nothing with an agent yet */
	record_marks_go_on(r);
	keep_budget(r);
	record_progress(r);
}

static void add(struct recording *r, struct loop_source *s)
{
	r->sources[r->source_count++] = s;
}

static void listen_to_signals(struct recording *r)
{
	add(r, loop_signal(r->loop, SIGTERM, on_stop, r));
	add(r, loop_signal(r->loop, SIGHUP, on_hangup, r));
	add(r, loop_signal(r->loop, SIGINT, r->pid ? on_key : on_stop, r));
	add(r, loop_signal(r->loop, SIGQUIT, r->pid ? on_key : on_stop, r));
	if (r->pid)
		add(r, loop_signal(r->loop, SIGCHLD, on_child, r));
	add(r, loop_timer(r->loop, POLL_MS, true, on_poll, r));
}

static void listen_no_more(struct recording *r)
{
	for (size_t i = 0; i < r->source_count; i++)
		loop_remove(r->sources[i]);
	r->source_count = 0;
}

static void record_loop(struct recording *r)
{
	record_marks_listen(r);
	on_child(r);
	/* Data that waits counts: no deadline passes before memtop has read it. */
	bool done = record_over(r), ran = true;
	while (!done || (ran && !r->stop)) {
		ran = loop_once(r->loop, done ? 0 : POLL_MS);
		record_marks_resume(r);
		done = record_over(r);
	}
	listen_no_more(r);
	record_progress_clear(r);
	record_marks_end(r);
	record_note_exec(r);
}

/* The file cannot be written, but the agent waits: greets it once, so that the program goes on. */
static void run_unrecorded(struct recording *r, const struct target *t,
			   struct watch_options *options, int *status)
{
	struct err err = { 0 };
	uint64_t begin = now_ns();

	options->record_path = NULL;
	r->watch = watch_open(r->loop, t, options, &err);
	for (on_child(r); r->watch && !r->ended && !watch_live(r->watch); on_child(r)) {
		if (now_ns() - begin > GREETING_MS * 1000000ull)
			break;
		loop_once(r->loop, 10);
	}
	if (r->watch)
		watch_close(r->watch);
	r->watch = NULL;
	while (waitpid(r->pid, status, 0) < 0 && errno == EINTR)
		;
	r->ended = true;
}

/* No program that it executed had an agent. */
static void end_of_launcher(struct recording *r, int *status)
{
	on_child(r);
	if (r->ended)
		waitpid(r->pid, status, 0);
	record_remove(r);
}

/* --for in seconds, 0 when it was not given; -1 and *err when it is none. */
static int seconds_of(const struct args *a, double *seconds, struct err *err)
{
	uint64_t ns = 0;

	if (a->seconds &&
	    (!mtw_amount(a->seconds, MTW_AMOUNT_NS, &ns) || !ns || ns > FOR_MAX_S * NS))
		return err_set(err, STATUS_USAGE,
			       "--for %s: not a time; write seconds, as --for 10, or --for 5m",
			       a->seconds);
	*seconds = (double)ns / NS;
	return 0;
}

static void stop_after(struct recording *r, double seconds)
{
	if (seconds > 0)
		add(r, loop_timer(r->loop, (unsigned)(seconds * 1000), false, on_time, r));
}

/* Before the program starts. 0, or -1 and *err. */
static int follow(struct recording *r, const struct args *a, const struct watch_options *options,
		  struct launch_options *launching, struct err *err)
{
	struct processes_options tree = {
		.follow = true, .matter_bytes = r->gate, .agent = a->agent, .watch = *options
	};

	/* a build's file is as large on a busy machine */
	tree.watch.by_cpu = !options->record_whole;
	r->first_only = a->first_only;
	if (a->no_follow)
		return 0;
	r->processes = processes_new(r->loop, &tree, err);
	launching->board = r->processes ? processes_board(r->processes) : NULL;
	return r->processes ? 0 : -1;
}

/* The recording ended before the program, as it was asked to. */
static void say_runs_on(const struct recording *r, const struct args *a)
{
	const char *found = r->marks.found;

	if (r->ended && r->marks.until_text && !*found)
		warn("%s: ended, and no line of its output matched --until %s", r->name, a->until);
	if (r->ended || (!*found && !a->seconds))
		return;
	warn("%s: recorded %s%s%s; it runs on as process %d, kill %d ends it", r->name,
	     *found ? "until \"" : "for ", *found ? found : a->seconds, *found ? "\"" : " s",
	     (int)r->pid, (int)r->pid);
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int record_program(const struct args *a, bool gate)
{
	struct launch_options launching = { .agent = a->agent,
					    .options = a->options,
					    .stdin_path = "-",
					    .outlives_terminal = has_terminal() };
	struct watch_options options = { .wait = true,
					 .record_whole = gate, /* peaks of parts need each tick */
					 .expected = a->rules };
	struct recording r = { .allow_sampling = a->allow_sampling,
			       .progress.wanted = a->progress,
			       .name = a->operands[0],
			       .terminal = launching.outlives_terminal,
			       .gate = gate };
	struct launched l;
	struct target t = { 0 };
	struct err err = { 0 };
	int status = 0;
	double seconds;

	if (args_of_view(a, &r.budget.percent, &err) || seconds_of(a, &seconds, &err) ||
	    record_marks_read(&r, a, &err))
		return args_fail(&err, STATUS_USAGE);
	record_choose_path(&r, a, a->operands[0]);
	if (record_check_writable(&r, &err))
		return args_fail(&err, STATUS_OURS);
	args_symbols(a, &options.symbols);
	if (record_marks_tee(&r, &launching, &err))
		return record_give_up(&r, &err, STATUS_OURS);
	r.loop = cmd_loop();
	bool started = !follow(&r, a, &options, &launching, &err) &&
		       !launch_program(a->operands, &launching, &l, &err);
	tee_launched(&r.marks.tee);
	if (!started) {
		processes_free(r.processes);
		loop_free(r.loop);
		return record_give_up(&r, &err, STATUS_OURS);
	}
	options.record_path = r.path;
	r.pid = l.pid;
	listen_to_signals(&r);
	stop_after(&r, seconds);
	bool found = !cmd_launched_target(r.loop, a, &l, r.processes, &r.stop, &t, &err);
	r.watched = t.pid;
	r.watch = found ? watch_open(r.loop, &t, &options, &err) : NULL;
	if (r.watch) {
		watch_note(r.watch, l.note);
		if (r.processes)
			processes_first(r.processes, l.pid, r.watch);
		record_loop(&r);
		if (r.ended && waitpid(r.pid, &status, 0) == r.pid && r.watched == r.pid)
			watch_child_ended(r.watch, status);
	} else {
		warn("%s%s", err.text, found ? "; the program runs unrecorded" : "");
		listen_no_more(&r);
		if (found)
			run_unrecorded(&r, &t, &options, &status);
		else
			end_of_launcher(&r, &status);
		r.output_lost = !record_marks_wait(&r);
	}
	bool lost = !r.watch || record_finish(&r, a->operands[0]) || r.output_lost;

	if (r.watch)
		say_runs_on(&r, a);
	record_marks_release(&r);
	processes_free(r.processes);
	if (r.watch)
		watch_close(r.watch);
	loop_free(r.loop);
	launch_end(&l);
	if (!r.ended)
		return lost ? STATUS_OURS : 0;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status) || !lost ? WEXITSTATUS(status) : STATUS_OURS;
}

static int record_target(const struct args *a)
{
	struct watch_options options = { .expected = a->rules };
	struct recording r = { .allow_sampling = a->allow_sampling,
			       .progress.wanted = a->progress };
	struct target t;
	struct err err = { 0 };
	double seconds;
	int status = STATUS_UNREACHED;

	if (args_target(&verb_record, a, &t, &err))
		return args_fail(&err, STATUS_USAGE);
	if (t.kind == TARGET_FILE) {
		warn("%s: already a session file; use memtop report or memtop open", t.text);
		return STATUS_USAGE;
	}
	if (args_of_view(a, &r.budget.percent, &err) || seconds_of(a, &seconds, &err) ||
	    record_marks_read(&r, a, &err))
		return args_fail(&err, STATUS_USAGE);
	record_choose_path(&r, a, t.text);
	if (record_check_writable(&r, &err))
		return args_fail(&err, STATUS_OURS);
	args_symbols(a, &options.symbols);
	options.record_path = r.path;
	r.loop = cmd_loop();
	r.watch = watch_open(r.loop, &t, &options, &err);
	if (r.watch && watch_wait_complete(r.watch, 60000, &err) == 0) {
		listen_to_signals(&r);
		stop_after(&r, seconds);
		record_loop(&r);
		status = record_finish(&r, t.text) ? STATUS_OURS : 0;
	}
	record_marks_release(&r);
	if (r.watch)
		watch_close(r.watch);
	if (status == STATUS_UNREACHED)
		record_give_up(&r, &err, status);
	loop_free(r.loop);
	return status;
}

static int record_run(const struct args *a)
{
	if (a->program && !a->operand_count) {
		warn("record: no program or target given; see memtop record --help");
		return STATUS_USAGE;
	}
	cmd_survive_writes();
	return a->program ? record_program(a, false) : record_target(a);
}

#define MARK_ON_MORE                                                                               \
	"REGEX is an extended regular expression; the matching text becomes the mark's name. "     \
	"For a PROG only. memtop sets the mark some milliseconds after it has read the line: a "   \
	"program that ends at once after such a line gets none. Twenty lines may set marks at "    \
	"once, then one every ten seconds, and a thousand in all; memtop says once that lines "    \
	"are skipped, and reports say how many."
#define UNTIL_MORE                                                                                 \
	"At a line that matches; for a PROG only.\n"                                               \
	"With --mark-on or --until, a process named memtop-tee passes each of the program's "      \
	"output streams on, byte for byte. It stays until the output is closed, also after "       \
	"memtop's end. The program writes to a pseudo-terminal where memtop's output is a "        \
	"terminal, and otherwise to a pipe. Programs that draw a screen work through it: the "     \
	"changes that they make to its modes are made to the terminal. A reader of the output "    \
	"that leaves ends the program by SIGPIPE, as a pipe of the shell does. The same happens "  \
	"when the output cannot be written; memtop says so, and its status is 125 when the "       \
	"program's was 0. Both streams are searched, the first 4096 bytes of each line. A line "   \
	"without an end, such as a prompt, is searched when the program pauses."

static const struct option_spec options[] = {
	OPTION('o', "output", "FILE", complete_file, output,
	       "the session file (else NAME.TIME.mtop)",
	       "A session that is there becomes FILE.old."),
	OPT_AGENT,
	OPT_AGENT_OPTIONS,
	OPT_NO_FOLLOW,
	OPT_FIRST_ONLY,
	OPT_PID,
	OPTION(0, "for", "SECONDS", NULL, seconds,
	       "record for this time (else to its end); it runs on",
	       "From the program's start, or from the link to a TARGET. Where a busy machine has "
	       "not "
	       "started the agent by then, until it has."),
	OPTION(0, "until", "REGEX", NULL, until, "... end the recording; the program runs on",
	       UNTIL_MORE),
	OPTION(0, "mark-every", "TIME", NULL, mark_every, "set a mark every 60s, 5m, 1h",
	       "`:every` does so in the live view."),
	OPTION(0, "mark-on-growth", "BYTES", NULL, mark_on_growth,
	       "set a mark each time the heap grew by 10M",
	       "The growth counts from the last such mark; memtop looks at the heap five times a "
	       "second."),
	OPTION(0, "mark-on", "REGEX", NULL, mark_on,
	       "set a mark when a line of the program's output matches", MARK_ON_MORE),
	OPTION(0, "progress", NULL, NULL, progress,
	       "print time, heap, rate and file size every 10 s, in lines",
	       "On stderr; the first line comes after a second. The figures are those of all "
	       "processes of the program."),
	OPT_MAX_OVERHEAD,
	OPTION(0, "allow-sampling", NULL, NULL, allow_sampling,
	       "let the agent sample when it takes more than --max-overhead",
	       "Every 64k at first, then more rarely while that saves time."),
	OPT_SYMBOLS,
	OPT_SYSROOT,
	OPT_SUPPRESS,
	{ 0 }
};

const struct verb verb_record = {
	.name = "record",
	.synopsis = { "record [OPTION...] [--] PROG [ARG...]", "record [OPTION...] TARGET" },
	.summary = "record a program or a live target into a session file",
	.details =
		"The program has the same input, output and exit status as without memtop. "
		"Status 125:\nrecording failed; 126: the program cannot be executed or watched; "
		"127: it is not found.\nSIGTERM, SIGHUP (the terminal is closed), --for and "
		"--until end the recording and leave the\nprogram running. The file also holds the "
		"processes that the program starts. Recording lasts until all\nof them have "
		"ended, and returns the program's status.\n",
	.options = options,
	.complete = complete_target,
	.takes = TAKES_EITHER,
	.run = record_run,
};
