/* SPDX-License-Identifier: MIT */
#include "cli/base/verb.h"

#include "launch/launch.h"
#include "base/loop.h"
#include "processes/all.h"
#include "processes/processes.h"
#include "session/spool.h"
#include "screen/term.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* a first full state over a slow link may take long; it moves, or fails sooner */
#define COMPLETE_MS 60000
#define SCAN_MS 3000
#define DETACH_MS 10000 /* the agent itself tries for 3 s */
#define LAG_MS 1000
#define LAUNCH_LOOK_MS 10
#define LAUNCH_SAID_NS 2000000000ull
#define LAUNCH_REST_NS 1000000000ull /* what it left behind has so long to start its agent */

int cmd_file(const char *path, struct target *t, struct err *err)
{
	if (strlen(path) >= sizeof t->name)
		return err_set(err, STATUS_USAGE, "%s: the name is too long; use a shorter path",
			       path);
	*t = (struct target){ .kind = TARGET_FILE };
	snprintf(t->name, sizeof t->name, "%s", path);
	snprintf(t->text, sizeof t->text, "%s", path);
	return 0;
}

int cmd_newest(const struct args *a, struct target *t, struct err *err)
{
	char path[PATH_MAX];
	size_t passed;

	if (a->operand_count > 1)
		return err_set(err, STATUS_USAGE,
			       "--last: of one program or pid at most; leave out %s",
			       a->operands[1]);
	if (spool_newest(path, sizeof path, a->operand_count ? a->operands[0] : NULL, &passed, err))
		return -1;
	if (passed)
		warn("--last: %zu newer session%s cannot be opened; this is %s", passed,
		     passed == 1 ? "" : "s", path);
	return cmd_file(path, t, err);
}

const char *cmd_temporary(const char *usual)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];

	if (!tmp || !*tmp)
		return usual;
	snprintf(path, sizeof path, "%s/.", tmp);
	if (!access(path, W_OK | X_OK))
		return tmp;
	warn("%s: cannot be written: %s; %s is used, set TMPDIR", tmp, strerror(errno), usual);
	return usual;
}

static int refuse_process(const struct args *a, const struct target *t, struct err *err)
{
	if (!a->process)
		return 0;
	return err_set(
		err, STATUS_USAGE,
		t->kind == TARGET_FILE
			? "--process %s: this session has only one process; leave the option out"
			: "--process %s: works only with a session file; use -p PID for a running "
			  "process",
		a->process);
}

int cmd_choose_process(const struct args *a, struct processes *p, struct target *t, struct err *err)
{
	if (t->kind != TARGET_FILE || !processes_read(p, t->name))
		return refuse_process(a, t, err);
	if (processes_choose(p, a->process, t, err))
		return -1;
	if (processes_note(p))
		warn("%s: %s", t->text, processes_note(p));
	return 0;
}

bool cmd_wants_all(const struct args *a, struct processes *p, const struct target *t)
{
	bool named = a->process && !strcmp(a->process, "all");

	if ((a->process && !named) || t->kind != TARGET_FILE || !processes_read(p, t->name))
		return false;
	/* All has no past but its marks */
	return named || (!a->at && !a->since && !a->between && processes_begin_with_all(p));
}

static int open_all(struct loop *loop, struct source *s, const struct target *t,
		    const struct args *a, struct err *err)
{
	struct watch_options options = { .command = true, .expected = a->rules };

	args_symbols(a, &options.symbols);
	s->all = all_of_file(loop, s->processes, t, &options, err);
	s->watch = s->all ? all_watch(s->all) : NULL;
	return s->all ? 0 : -1;
}

int cmd_open_source(struct loop *loop, struct source *s, struct target *t, const struct args *a,
		    struct err *err)
{
	s->processes = processes_new(loop, &(struct processes_options){ .follow = false }, err);
	if (!s->processes)
		return -1;
	if (cmd_wants_all(a, s->processes, t))
		return open_all(loop, s, t, a, err);
	if (cmd_choose_process(a, s->processes, t, err))
		return -1;
	s->watch = cmd_open_whole(loop, t, a, err);
	if (s->watch)
		processes_first(s->processes, 0, s->watch);
	return s->watch ? 0 : -1;
}

void cmd_close_source(struct source *s)
{
	if (s->processes)
		processes_free(s->processes);
	if (s->all)
		all_free(s->all);
	else if (s->watch)
		watch_close(s->watch);
}

bool cmd_terminal(struct err *err, int status, const char *what, const char *instead)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		err_set(err, status, "%s: not a terminal; use %s", what, instead);
		return false;
	}
	if (!term || !*term) {
		err_set(err, status, "%s: TERM is not set; set it (TERM=xterm) or use %s", what,
			instead);
		return false;
	}
	if (term_check(err)) {
		err->status = status;
		return false;
	}
	return true;
}

static void no_op(int signum)
{
	(void)signum;
}

/* A handler, and not SIG_IGN: an exec resets it for the program. */
void cmd_survive_writes(void)
{
	static const int signals[] = { SIGPIPE, SIGXFSZ };
	struct sigaction sa;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &sa) == 0 && sa.sa_handler == SIG_DFL) {
			sa = (struct sigaction){ .sa_handler = no_op, .sa_flags = SA_RESTART };
			sigaction(signals[i], &sa, NULL);
		}
}

struct tui_options cmd_tui_options(const struct args *a)
{
	struct err unused;
	double max_overhead;

	args_of_view(a, &max_overhead, &unused); /* the verb has reported its error */
	return (struct tui_options){
		.max_overhead = max_overhead,
		.theme = a->theme,
		.ascii = a->ascii,
		.output_fd = -1,
	};
}

/* Not reaped: while it is a zombie, no other process has its pid. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

static int await_launched(struct loop *loop, const char *name, const struct launched *l,
			  struct processes *p, const bool *stop, struct target *t, struct err *err)
{
	uint64_t begin = now_ns(), ended_ns = 0;
	bool said = false;

	processes_launcher(p, l->pid, name);
	do {
		if (!ended_ns && has_ended(l->pid))
			ended_ns = now_ns();
		if (processes_launched(p, t))
			return 0;
		if (!said && now_ns() - begin > LAUNCH_SAID_NS) {
			said = true;
			warn("%s: statically linked: memtop waits for the first program with an "
			     "agent that it executes",
			     name);
		}
		loop_once(loop, LAUNCH_LOOK_MS);
	} while (!(stop && *stop) && (!ended_ns || now_ns() - ended_ns < LAUNCH_REST_NS));
	return err_set(err, 125,
		       "%s: nothing was recorded: it is statically linked, and no program that it "
		       "executed %s an agent that reached memtop (of another user, or with a /proc "
		       "of its own, none does)",
		       name, ended_ns ? "had" : "has");
}

int cmd_launched_target(struct loop *loop, const struct args *a, const struct launched *l,
			struct processes *p, const bool *stop, struct target *t, struct err *err)
{
	if (l->launcher)
		return await_launched(loop, a->operands[0], l, p, stop, t, err);
	*t = (struct target){
		.kind = TARGET_ABSTRACT,
		.pid = (int)l->pid,
		.unheard = true,
	};
	snprintf(t->name, sizeof t->name, "%s", l->socket);
	snprintf(t->text, sizeof t->text, "%.599s", a->operands[0]);
	return 0;
}

void cmd_note_rules(const struct args *a, struct watch *w)
{
	watch_note(w, a->rules_wrong.text);
}

/* A quick quit comes before the link is up. */
static int take_out(struct loop *loop, struct watch *w, struct err *err)
{
	if (watch_wait_complete(w, DETACH_MS, err))
		return -1;
	return model_final(watch_now(w)) ? 0 : cmd_detach(loop, w, err);
}

void cmd_say_unsaved(const struct watch *w)
{
	if (watch_unsaved(w))
		warn("the session is not saved to its end: %s", watch_unsaved(w));
}

static int view(const struct args *a, const struct target *t, const struct diff_tree *d)
{
	struct tui_options tui = cmd_tui_options(a);
	bool live = t->kind != TARGET_FILE;
	struct processes_options options = { .keep_ended = true,
					     .watch = { .spool = live ? args_keep(a) : 0,
							.paced = live,
							.wait = true,
							.expected = a->rules } };
	struct loop *loop = cmd_loop();
	struct err err = { 0 };

	tui.can_switch = live;
	tui.diff = d;
	cmd_survive_writes();
	args_symbols(a, &options.watch.symbols);
	struct processes *p = processes_new(loop, &options, &err);
	struct target chosen = *t;
	struct args choice = *a;

	tui.all = !d && p && cmd_wants_all(a, p, t);
	if (tui.all)
		choice.process = NULL; /* the view begins there, and shows all at once */
	struct watch *w = p && !cmd_choose_process(&choice, p, &chosen, &err)
				  ? watch_open(loop, &chosen, &options.watch, &err)
				  : NULL;
	if (w) {
		cmd_note_rules(a, w);
		processes_first(p, t->kind == TARGET_PID ? t->pid : 0, w);
	}
	int status = w ? tui_run(loop, p, &tui) : args_fail(&err, STATUS_UNREACHED);
	if (w)
		cmd_say_unsaved(w);
	if (w && a->detach && status != TUI_SWITCH && live && take_out(loop, w, &err))
		status = args_fail(&err, STATUS_UNREACHED);
	if (p)
		processes_free(p);
	if (w)
		watch_close(w);
	loop_free(loop);
	return status;
}

/* The last state has all live blocks, and millions take seconds. */
static void say_walked(struct watch *w, uint64_t *told)
{
	uint64_t walked = model_walked(watch_model(w));

	if (walked <= 1 || walked == *told || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\rmemtop: %s: the agent reads its blocks for the last time: %llu %%",
		watch_target(w)->text, (unsigned long long)walked - 1);
	*told = walked;
}

int cmd_detach(struct loop *loop, struct watch *w, struct err *err)
{
	uint64_t end = now_ns() + DETACH_MS * 1000000ull;
	struct procfs_pace pace = { 0 };
	const char *name = watch_target(w)->text;
	uint64_t told = 0;

	if (watch_detach(w))
		return err_set(err, STATUS_UNREACHED,
			       "%s: the link was lost before the detach; try again", name);
	for (uint64_t now; watch_live(w) && !model_final(watch_model(w));) {
		if ((now = now_ns()) >= end && watch_lags(w, &pace))
			end = now + LAG_MS * 1000000ull;
		if (now >= end)
			break;
		say_walked(w, &told);
		end = watch_until(w, end, DETACH_MS);
		loop_once(loop, (int)((end - now) / 1000000) + 1);
	}
	if (told)
		fputs("\r\033[K", stderr);
	if (model_state(watch_model(w), NULL, NULL) == MTW_DETACHED)
		return 0;
	if (model_final(watch_model(w)))
		return err_set(err, STATUS_UNREACHED,
			       "%s: the program has ended; there is no agent to detach", name);
	return err_set(err, STATUS_UNREACHED, "%s",
		       watch_problem(w)  ? watch_problem(w)
		       : watch_notice(w) ? watch_notice(w)
					 : "detach: the agent does not answer; try again");
}

int cmd_view(const struct args *a, const struct target *t)
{
	return view(a, t, NULL);
}

int cmd_view_diff(const struct args *a, const struct target *t, const struct diff_tree *d)
{
	struct args args = *a;

	args.process = NULL; /* it chose the sides' process */
	return view(&args, t, d);
}

struct watch *cmd_open_whole(struct loop *loop, const struct target *t, const struct args *a,
			     struct err *err)
{
	struct watch_options options = { .command = true, .expected = a->rules };

	args_symbols(a, &options.symbols);
	struct watch *w = watch_open(loop, t, &options, err);
	if (!w || t->kind == TARGET_FILE)
		return w;
	if (watch_wait_complete(w, COMPLETE_MS, err)) {
		watch_close(w);
		return NULL;
	}
	watch_look(w, SCAN_MS, true);
	return w;
}
