/* SPDX-License-Identifier: MIT
 *
 * adb.c - `memtop adb`: watches the heap of an Android app through the user's own adb. It chooses
 * device and process, loads the agent, forwards a port, runs the view, and undoes all of it.
 *
 * Terminating signals are blocked and read from a descriptor that every wait of attach/adb/adb.h
 * polls, so that each step ends where it can be cleaned up. Only the view handles them in its usual
 * way.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "cli/adb.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static volatile sig_atomic_t late; /* a signal just before or after the view */

static void note(int signum)
{
	late = signum;
}

static int catch_signals(sigset_t *set)
{
	static const int asking[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction sa = { .sa_handler = note };

	sigemptyset(set);
	for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
		sigaddset(set, asking[i]);
		sigaction(asking[i], &sa, NULL);
	}
	sigprocmask(SIG_BLOCK, set, NULL);
	return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void say_waiting(void *arg, const char *what)
{
	const struct adb_app *app = arg;

	warn("%s: waiting for %s; bring the app to the front, or touch it", app->name, what);
}

static const char *way_text(enum adb_way way)
{
	switch (way) {
	case ADB_THERE: return "the agent was already loaded";
	case ADB_PTRACE: return "the agent was loaded as root (ptrace)";
	case ADB_JDWP: return "the agent was loaded through its debug port (JDWP)";
	case ADB_WRAP_PROPERTY: return "started with the agent (property wrap)";
	case ADB_WRAP_SCRIPT: return "started with the agent (its wrap.sh)";
	default:
		return "started, and the agent loaded before its first activity (am start -D, "
		       "JDWP)";
	}
}

static int show(const struct args *a, struct adb_app *app, const sigset_t *set)
{
	struct target t = {
		.kind = TARGET_TCP, .host = "127.0.0.1", .port = app->port, .forwarded = true
	};

	snprintf(t.text, sizeof t.text, "%s (:%d)", app->name, app->port);
	late = 0;
	sigprocmask(SIG_UNBLOCK, set, NULL);
	int status = cmd_view(a, &t);
	sigprocmask(SIG_BLOCK, set, NULL);
	return late ? 128 + late : status;
}

/* Loads the agent into the process that `word` or *process names. */
static int bring(const struct args *a, struct adb *adb, struct adb_app *app,
		 const struct adb_process *process, struct err *err)
{
	struct adb_request q = { .agent = a->agent,
				 .options = a->options,
				 .activity = a->activity,
				 .waiting = say_waiting,
				 .arg = app };
	const char *word = a->operands[0], *breaks[] = { a->break_at, NULL };

	q.breaks = a->break_at ? breaks : NULL;
	if (args_timeout(a, &q.timeout_ms, err) || (!process && adb_choose(adb, err)) ||
	    adb_phone(adb, &app->phone, err))
		return -1;
	if (a->start && !process) {
		snprintf(app->package, sizeof app->package, "%s", word);
		return adb_app_start(app, &q, err);
	}
	if (process)
		adb_app_name(app, process);
	else if (adb_app_find(app, word, err))
		return -1;
	return adb_app_attach(app, &q, err);
}

static int session(const struct args *a, struct adb *adb, const struct adb_process *process,
		   const sigset_t *set)
{
	struct adb_app app = { .adb = adb };
	struct err err = { 0 };
	int status;

	if (bring(a, adb, &app, process, &err)) {
		adb_app_clean(&app);
		return args_fail(&err, STATUS_UNREACHED);
	}
	adb_app_tidy(&app);
	if (a->no_view) {
		printf("%d %s: %s; watch it with memtop :%d, then: adb -s %s forward --remove "
		       "tcp:%d\n",
		       app.pid, app.name, way_text(app.way), app.port, adb->serial, app.port);
		return 0;
	}
	printf("%d %s: %s\n", app.pid, app.name, way_text(app.way));
	fflush(stdout);
	status = show(a, &app, set);
	adb_app_clean(&app);
	if (status == 0 && !a->detach)
		warn("%s: process %d keeps the agent; memtop adb --detach %d takes it out",
		     app.name, app.pid, app.pid);
	return status;
}

/* From the table; again when the view was left for another process. */
static int choose(const struct args *a, const struct adb *adb, const sigset_t *set)
{
	struct adb_process p;
	struct err err = { 0 };
	int status;

	do {
		struct adb one = *adb;
		int rc = adb_ask(&one, &p, &err);
		if (rc <= 0)
			return rc < 0 ? args_fail(&err, STATUS_UNREACHED) : 0;
		status = session(a, &one, &p, set);
	} while (status == TUI_SWITCH);
	return status;
}

/* PACKAGE; of what runs PACKAGE:PART and PID, too. */
static bool is_app(const char *word, bool package_alone)
{
	size_t len = strcspn(word, ":");
	struct target t;

	if (adb_is_package(word, len) && (!word[len] || !package_alone))
		return strspn(word + len,
			      ":._"
			      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
		       strlen(word + len);
	return !package_alone && target_parse_pid(word, &t, NULL) == 0;
}

static int check(const struct args *a, bool *list, struct err *err)
{
	const char *word = a->operand_count ? a->operands[0] : NULL;
	double unused;
	int ms;

	*list = a->list;
	if (args_of_view(a, &unused, err) || args_timeout(a, &ms, err))
		return -1;
	if (a->operand_count > 1)
		return err_set(err, STATUS_USAGE,
			       "%s: only one app can be named; see memtop adb --help",
			       a->operands[1]);
	if (a->list && word)
		return err_set(err, STATUS_USAGE, "%s: --list takes no app; see memtop adb --help",
			       word);
	if (a->start && !word)
		return err_set(err, STATUS_USAGE,
			       "--start: no package given; use memtop adb --start PACKAGE");
	if (a->activity && !a->start)
		return err_set(err, STATUS_USAGE,
			       "--activity: works only with --start; use memtop adb --start "
			       "PACKAGE --activity NAME");
	if (word && !is_app(word, a->start))
		return err_set(
			err, STATUS_USAGE,
			"%s: not a package name%s; write com.example.app, or see memtop adb --list",
			word, a->start ? "" : " or a process id");
	if (a->serial && strlen(a->serial) >= sizeof((struct adb *)NULL)->serial)
		return err_set(err, STATUS_USAGE,
			       "--serial: too long; memtop adb --list shows the devices");
	if (!word && !*list && !a->no_view && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		*list = true;
	if (!word && !*list && a->no_view)
		return err_set(err, STATUS_USAGE,
			       "--no-view: no app given; use memtop adb --no-view PACKAGE");
	if (!*list && !a->no_view &&
	    !cmd_terminal(err, STATUS_USAGE, "adb", "memtop adb --no-view PACKAGE"))
		return -1;
	return 0;
}

/* 128 + N of the signal that ended it. */
static int stopped_status(int stop_fd)
{
	struct signalfd_siginfo info;

	return read(stop_fd, &info, sizeof info) == (ssize_t)sizeof info ? 128 + (int)info.ssi_signo
									 : ADB_STOPPED;
}

static int adb_verb(const struct args *a)
{
	struct adb adb;
	struct err err = { 0 };
	sigset_t set;
	bool list;
	int status;

	if (check(a, &list, &err))
		return args_fail(&err, STATUS_USAGE);
	cmd_survive_writes();
	int stop_fd = catch_signals(&set);
	if (adb_open(&adb, a->adb, stop_fd, &err)) {
		status = args_fail(&err, STATUS_UNREACHED);
	} else {
		if (a->serial)
			snprintf(adb.serial, sizeof adb.serial, "%s", a->serial);
		struct adb one = adb;
		status = list               ? adb_list(&adb)
			 : a->operand_count ? session(a, &one, NULL, &set)
					    : TUI_SWITCH;
		if (status == TUI_SWITCH)
			status = choose(a, &adb, &set);
	}
	if (status == ADB_STOPPED)
		status = stopped_status(stop_fd);
	close(stop_fd);
	return status;
}

static const struct option_spec options[] = {
	OPTION('s', "serial", "SERIAL", NULL, serial,
	       "this device (else ANDROID_SERIAL, or the only one)", NULL),
	OPTION(0, "list", NULL, NULL, list, "print the processes that take a debugger, and exit",
	       NULL),
	OPTION(0, "start", NULL, NULL, start, "restart the app, with the agent from the start",
	       NULL),
	OPTION(0, "activity", "NAME", NULL, activity,
	       "with --start: this activity, not the launcher's", NULL),
	OPTION(0, "no-view", NULL, NULL, no_view,
	       "load the agent, print one line with the port, and exit", NULL),
	OPT_BREAK,
	OPT_TIMEOUT,
	OPTION(0, "adb", "FILE", complete_file, adb,
	       "the adb client (else ANDROID_HOME/platform-tools, PATH)",
	       "ANDROID_SDK_ROOT/platform-tools is searched, too."),
	OPT_AGENT,
	OPT_AGENT_OPTIONS,
	OPTS_OF_VIEW,
	OPT_DETACH,
	{ 0 }
};

const struct verb verb_adb = {
	.name = "adb",
	.synopsis = { "adb [OPTION...] [PACKAGE|PID]", "adb --start [OPTION...] PACKAGE",
		      "adb --list" },
	.summary = "watch an Android app through adb",
	.details = "memtop copies the agent into a debuggable app's folder (run-as) and loads it "
		   "through the\napp's debug port (JDWP). --start restarts the app with the agent: "
		   "by its wrap.sh, by the\nproperty wrap.PACKAGE if it can be set, or by am start "
		   "-D. Without an app, memtop offers a\nchoice. It removes the forwarded port at "
		   "the end.\n\nOn a rooted device (adb root, su) it enters any other app or "
		   "native process by ptrace.\n",
	.options = options,
	.run = adb_verb,
};
