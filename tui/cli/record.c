/* SPDX-License-Identifier: MIT
 *
 * record.c - `memtop record`: a session file without a screen, of a program that it starts or
 * of an agent that is there.
 *
 * A program inherits everything from us, and its status is ours: with record in front of it, a
 * script sees what it saw before. So nothing that goes wrong with the recording ends the program or
 * hides its status; it is one line on stderr. ^C reaches the program by the terminal, not through
 * us: we wait for it. SIGTERM is for us: the file is closed, the program lives on.
 *
 * What the program starts is recorded, too, into the same file (processes/processes.h). When the
 * program has ended and some of its processes run on, so does the recording, until they end or
 * somebody ends it: of a daemon nothing else would be recorded than its start. --first-only and
 * --no-follow end it with the program.
 *
 * The child is only looked at (WNOWAIT) until the recording is over: while it is a zombie, its pid
 * cannot be taken by another process that the agent's credentials would be compared with.
 */
#include "cli/verb.h"

#include "link/budget.h"

#include "launch/launch.h"
#include "base/loop.h"
#include "processes/processes.h"
#include "report/report.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 200
#define GREETING_MS 3000 /* an ended program whose agent has not greeted by then never will */
#define EXEC_MS 1500     /* after an exec: so long the new program's agent may take to speak */
#define UNBORN_MS 2000   /* so long a child that was just forked may take to its first turn */
#define SILENCE_MS 5000  /* ... and one that says nothing more has nothing more to say */

struct recording {
	struct loop *loop;
	struct watch *watch;
	struct processes *processes;    /* NULL: only the one program or target */
	const char *name;               /* of the program, as typed */
	bool first_only;                /* the recording ends with the program */
	bool said_on;                   /* that others run on */
	struct loop_source *sources[7]; /* as listen_to_signals() and stop_after() add */
	size_t source_count;
	char path[PATH_MAX];
	bool path_made_up;                        /* not the user's: must be said */
	bool created;                             /* the file was not there before */
	pid_t pid;                                /* 0 = a TARGET, not a program */
	bool ended;                               /* the program is a zombie */
	int status;                               /* ... as waitpid() will have it */
	uint64_t ended_ns, link_lost_ns, exec_ns; /* now_ns() of each, 0 = not */
	bool stop;                                /* a signal or --for asked us to end */
	bool connected;                           /* at any time */
	struct budget budget;                     /* --max-overhead */
	bool allow_sampling, budget_said;
};

/* NAME.YYYYMMDD-HHMMSS.mtop in the current folder. */
static void default_path(const char *what, char *path, size_t size)
{
	const char *slash = strrchr(what, '/');
	char stamp[32];
	time_t now = time(NULL);
	struct tm tm;

	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	snprintf(path, size, "%.200s.%s.mtop", slash ? slash + 1 : what, stamp);
	for (char *c = path; *c; c++)
		if (*c == '/' || *c == ':' || *c == '@')
			*c = '_';
}

static void choose_path(struct recording *r, const struct args *a, const char *what)
{
	r->path_made_up = !a->output;
	if (a->output)
		snprintf(r->path, sizeof r->path, "%s", a->output);
	else
		default_path(what, r->path, sizeof r->path);
}

static void on_stop(void *arg)
{
	((struct recording *)arg)->stop = true;
}

/* ^C and ^\ reach the program by the terminal. Once it has ended, they are for us: others of its
 * tree may not see them. */
static void on_key(void *arg)
{
	struct recording *r = arg;

	r->stop = r->stop || r->ended;
}

/* As waitpid() would have it. */
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

/* Nobody can be asked here: sampling only when it was allowed beforehand. */
static void keep_budget(struct recording *r)
{
	double cost;
	uint64_t sample;
	char rate[FORMAT_NUMBER], value[32];

	if (!watch_live(r->watch) ||
	    !budget_exceeded(&r->budget, watch_model(r->watch), &cost, &sample))
		return;
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
	on_child(arg);
	keep_budget(arg);
}

static void add(struct recording *r, struct loop_source *s)
{
	r->sources[r->source_count++] = s;
}

static void listen_to_signals(struct recording *r)
{
	add(r, loop_signal(r->loop, SIGTERM, on_stop, r));
	add(r, loop_signal(r->loop, SIGHUP, on_stop, r));
	add(r, loop_signal(r->loop, SIGINT, r->pid ? on_key : on_stop, r));
	add(r, loop_signal(r->loop, SIGQUIT, r->pid ? on_key : on_stop, r));
	if (r->pid)
		add(r, loop_signal(r->loop, SIGCHLD, on_child, r));
	add(r, loop_timer(r->loop, POLL_MS, true, on_poll, r));
}

/* The last that came was an exec: the new program's agent may be about to speak. */
static bool execed(const struct recording *r)
{
	int status;
	bool known;

	return model_state(watch_model(r->watch), &status, &known) == MTW_EXECED;
}

/* Whether nothing more can come. */
static bool over(struct recording *r)
{
	uint64_t now = now_ns();
	bool live = watch_live(r->watch);

	r->connected = r->connected || model_ticks(watch_model(r->watch));
	if (live) {
		r->link_lost_ns = 0;
	} else if (!r->link_lost_ns) {
		r->link_lost_ns = now;
	}
	if (r->stop)
		return true;
	if (r->pid && !r->ended)
		return false;
	if (!model_final(watch_model(r->watch)))
		r->exec_ns = 0;
	else if (!execed(r))
		return true;
	else
		return now - (r->exec_ns ? r->exec_ns : (r->exec_ns = now)) > EXEC_MS * 1000000ull;
	if (r->pid && !r->connected)
		return now - r->ended_ns > GREETING_MS * 1000000ull;
	if (live)
		return r->pid && watch_silent_ns(r->watch) > SILENCE_MS * 1000000ull;
	return now - r->link_lost_ns > SILENCE_MS * 1000000ull;
}

/* To a person. A script that named its file wants its program's stderr, and finds the daemon in the
 * table. */
static void say_on(struct recording *r, size_t running)
{
	char how[48];

	if (r->said_on || !(r->path_made_up || isatty(STDERR_FILENO)))
		return;
	r->said_on = true;
	snprintf(how, sizeof how, WIFSIGNALED(r->status) ? "by signal %d" : "with status %d",
		 WIFSIGNALED(r->status) ? WTERMSIG(r->status) : WEXITSTATUS(r->status));
	warn("%s: ended %s; %zu of its processes run%s on: recording until %s; ^C ends the "
	     "recording, --first-only does not wait for them",
	     r->name, how, running, running == 1 ? "s" : "", running == 1 ? "it ends" : "they end");
}

/* Of the whole tree. */
static bool all_over(struct recording *r)
{
	if (!over(r))
		return false;
	if (r->stop || !r->processes || r->first_only)
		return true;
	size_t running = processes_running(r->processes);
	if (running)
		say_on(r, running);
	if (running || processes_pending(r->processes))
		return false;
	return now_ns() - r->ended_ns > UNBORN_MS * 1000000ull || !processes_unborn(r->processes);
}

/* The last that was seen is an exec: unless it is known why, nothing came of the program that
 * followed. */
static void note_exec(struct recording *r)
{
	const char *const *list;
	static const char missing[] = "The program that this one executed is not in this session";

	if (!r->connected || !execed(r))
		return;
	for (size_t i = 0, n = watch_warnings(r->watch, &list); i < n; i++)
		if (!strncmp(list[i], missing, sizeof missing - 1))
			return;
	char *text = xasprintf("%s: its agent never answered.", missing);
	watch_note(r->watch, text);
	free(text);
}

static void record_loop(struct recording *r)
{
	listen_to_signals(r);
	on_child(r);
	/* What has come counts, however late we look: no patience is over while something waits to
	 * be read. */
	bool done = all_over(r), ran = true;
	while (!done || (ran && !r->stop)) {
		ran = loop_once(r->loop, done ? 0 : POLL_MS);
		done = all_over(r);
	}
	for (size_t i = 0; i < r->source_count; i++)
		loop_remove(r->sources[i]);
	note_exec(r);
}

static void say_tree(const struct recording *r, const struct processes_sum *all)
{
	char live[REPORT_RANGE];

	warn("%s: %zu processes, %llu allocations, %s live at their ends; memtop report %s",
	     r->path, all->lines, (unsigned long long)all->sum.alloc_blocks,
	     report_range(live, &all->bytes), r->path);
}

/* The line at the end, where a person reads it or the file's name is ours. */
static void say_result(const struct recording *r)
{
	const struct model *m = watch_model(r->watch);
	const struct tally *sum = &model_totals(m)->sum;
	struct processes_sum all = { 0 };

	if (r->processes)
		processes_total(r->processes, &all);
	if (!r->path_made_up && !isatty(STDERR_FILENO))
		return;
	if (all.lines > 1)
		say_tree(r, &all);
	else
		warn("%s: %llu allocations, %llu bytes live in %llu blocks at the end; memtop "
		     "report %s",
		     r->path, (unsigned long long)sum->alloc_blocks,
		     (unsigned long long)live_bytes(sum), (unsigned long long)live_blocks(sum),
		     r->path);
}

/* The link's sentence names the program already. */
static void say_nothing(const struct recording *r, const char *what)
{
	const char *why = watch_problem(r->watch);
	size_t len = strlen(what);

	if (!why)
		why = "its agent never answered; run it without memtop to compare";
	else if (!strncmp(why, what, len) && !strncmp(why + len, ": ", 2))
		why += len + 2;
	warn("%s: nothing was recorded: %s", what, why);
}

/* Closes the file; one clear line when it is not whole. 0, or -1 when bytes were lost or none
 * came. */
static int finish(struct recording *r, const char *what)
{
	struct err err = { 0 };
	int lost = r->processes ? processes_end(r->processes, &err) : 0;

	if (!r->connected)
		say_nothing(r, what);
	else if (!r->stop && !model_final(watch_model(r->watch)))
		warn("%s: the link broke before the end; %s has everything up to then", what,
		     r->path);
	if (watch_end_record(r->watch, &err) || lost) {
		warn("%s", err.text);
		return -1;
	}
	if (r->connected) {
		say_result(r);
		return 0;
	}
	if (r->created)
		unlink(r->path);
	return -1;
}

/* Known before the program starts: a recording that cannot be written is not begun. */
static int check_writable(struct recording *r, struct err *err)
{
	struct stat st = { 0 };

	r->created = lstat(r->path, &st) != 0; /* a link is the user's, wherever it leads */
	if (!r->created && stat(r->path, &st))
		st.st_mode = 0;
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return err_set(err, STATUS_OURS,
			       "%s: cannot be written: a session needs a plain file, not a pipe or "
			       "socket; choose another -o",
			       r->path);
	if (S_ISBLK(st.st_mode))
		return err_set(err, STATUS_OURS,
			       "%s: not overwritten: it is a disk; choose another -o", r->path);
	if (S_ISREG(st.st_mode) && st.st_size > 0 && !session_file(r->path))
		return err_set(err, STATUS_OURS,
			       "%s: not overwritten: it is not a session file; choose another -o",
			       r->path);
	int fd = open(r->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_set(err, STATUS_OURS, "%s: cannot be written: %s; choose another -o",
			       r->path, strerror(errno));
	close(fd);
	return 0;
}

/* Nothing was started or reached: no empty file is left behind. */
static int give_up(const struct recording *r, const struct err *err, int status)
{
	if (r->created)
		unlink(r->path);
	return args_fail(err, status);
}

/* Nothing can be kept, and the agent waits for us: it is greeted once, so that the program goes on
 * at once. */
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

/* --for as a number, 0 when it was not given; -1 and *err when it is none. */
static int seconds_of(const struct args *a, double *seconds, struct err *err)
{
	const char *text = a->seconds;
	char *end = NULL;

	*seconds = text ? strtod(text, &end) : 0;
	if (text &&
	    (*end || text[strspn(text, "0123456789.")] || !(*seconds > 0) || *seconds > 4e6))
		return err_set(err, STATUS_USAGE, "%s: not a number of seconds; write --for 10",
			       text);
	return 0;
}

static void stop_after(struct recording *r, double seconds)
{
	if (seconds > 0)
		add(r, loop_timer(r->loop, (unsigned)(seconds * 1000), false, on_stop, r));
}

/* Before the program starts. 0, or -1 and *err. */
static int follow(struct recording *r, const struct args *a, const struct watch_options *options,
		  struct launch_options *launching, struct err *err)
{
	struct processes_options tree = { .follow = true, .agent = a->agent, .watch = *options };

	r->first_only = a->first_only;
	if (a->no_follow)
		return 0;
	r->processes = processes_new(r->loop, &tree, err);
	launching->board = r->processes ? processes_board(r->processes) : NULL;
	return r->processes ? 0 : -1;
}

static int record_program(const struct args *a)
{
	struct launch_options launching = { .agent = a->agent,
					    .options = a->options,
					    .stdin_path = "-" };
	struct watch_options options = { .wait = true, .expected = a->rules };
	struct recording r = { .allow_sampling = a->allow_sampling, .name = a->operands[0] };
	struct launched l;
	struct target t;
	struct err err = { 0 };
	int status = 0;
	double seconds;

	if (args_max_overhead(a, &r.budget.percent, &err) || seconds_of(a, &seconds, &err))
		return args_fail(&err, STATUS_USAGE);
	choose_path(&r, a, a->operands[0]);
	if (check_writable(&r, &err))
		return args_fail(&err, STATUS_OURS);
	args_symbols(a, &options.symbols);
	r.loop = cmd_loop();
	if (follow(&r, a, &options, &launching, &err) ||
	    launch_program(a->operands, &launching, &l, &err)) {
		processes_free(r.processes);
		loop_free(r.loop);
		return give_up(&r, &err, STATUS_OURS);
	}
	options.record_path = r.path;
	r.pid = l.pid;
	cmd_launched_target(&l, a->operands[0], &t);
	r.watch = watch_open(r.loop, &t, &options, &err);
	if (r.watch) {
		watch_note(r.watch, l.note);
		stop_after(&r, seconds);
		if (r.processes)
			processes_first(r.processes, l.pid, r.watch);
		record_loop(&r);
		if (r.ended && waitpid(r.pid, &status, 0) == r.pid)
			watch_child_ended(r.watch, status);
	} else {
		warn("%s; the program runs unrecorded", err.text);
		run_unrecorded(&r, &t, &options, &status);
	}
	int lost = r.watch ? finish(&r, a->operands[0]) : -1;

	if (seconds > 0 && !r.ended)
		warn("%s: recorded for %s s; it runs on as process %d, kill %d ends it",
		     a->operands[0], a->seconds, (int)r.pid, (int)r.pid);
	processes_free(r.processes);
	if (r.watch)
		watch_close(r.watch);
	loop_free(r.loop);
	if (!r.ended)
		return lost ? STATUS_OURS : 0;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status) || !lost ? WEXITSTATUS(status) : STATUS_OURS;
}

static int record_target(const struct args *a)
{
	struct watch_options options = { .expected = a->rules };
	struct recording r = { .allow_sampling = a->allow_sampling };
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
	if (args_max_overhead(a, &r.budget.percent, &err) || seconds_of(a, &seconds, &err))
		return args_fail(&err, STATUS_USAGE);
	choose_path(&r, a, t.text);
	if (check_writable(&r, &err))
		return args_fail(&err, STATUS_OURS);
	args_symbols(a, &options.symbols);
	options.record_path = r.path;
	r.loop = cmd_loop();
	r.watch = watch_open(r.loop, &t, &options, &err);
	if (r.watch && watch_wait_complete(r.watch, 60000, &err) == 0) {
		stop_after(&r, seconds);
		record_loop(&r);
		status = finish(&r, t.text) ? STATUS_OURS : 0;
	} else {
		give_up(&r, &err, STATUS_UNREACHED);
	}
	if (r.watch)
		watch_close(r.watch);
	loop_free(r.loop);
	return status;
}

static int record_run(const struct args *a)
{
	if (a->program && !a->operand_count) {
		warn("record: no program or target given; see memtop record --help");
		return STATUS_USAGE;
	}
	cmd_survive_sigpipe();
	return a->program ? record_program(a) : record_target(a);
}

static const char *const synopsis[] = { "record [OPTION...] [--] PROG [ARG...]",
					"record [OPTION...] TARGET", NULL };
static const struct option_spec opt_output = { 'o',
					       "output",
					       "FILE",
					       "the session file (else NAME.TIME.mtop)",
					       offsetof(struct args, output),
					       false };
static const struct option_spec opt_for = { 0,
					    "for",
					    "SECONDS",
					    "record for this time (else to its end); it runs on",
					    offsetof(struct args, seconds),
					    false };
static const struct option_spec opt_allow = {
	0,
	"allow-sampling",
	NULL,
	"let the agent sample when it takes more than --max-overhead",
	offsetof(struct args, allow_sampling),
	false
};
static const struct option_spec opt_first_only = {
	0,
	"first-only",
	NULL,
	"end with the program, even if processes that it started run on",
	offsetof(struct args, first_only),
	false
};
static const struct option_spec *const options[] = { &opt_output,
						     &opt_agent,
						     &opt_agent_options,
						     &opt_no_follow,
						     &opt_first_only,
						     &opt_pid,
						     &opt_for,
						     &opt_max_overhead,
						     &opt_allow,
						     &opt_symbols,
						     &opt_sysroot,
						     &opt_suppress,
						     NULL };

const struct verb verb_record = {
	.name = "record",
	.synopsis = synopsis,
	.summary = "record a program or a live target into a session file",
	.details = "The program has the same input, output and exit status as without memtop. "
		   "Status 125:\nrecording failed; 126: the program cannot be executed or watched; "
		   "127: it is not found.\nSIGTERM, SIGHUP (the terminal is closed) and --for end "
		   "the recording and leave the program\nrunning. The file also holds the "
		   "processes that the program starts. Recording lasts until all\nof them have "
		   "ended, and returns the program's status.\n",
	.options = options,
	.takes = TAKES_EITHER,
	.run = record_run,
};
