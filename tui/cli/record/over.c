/* SPDX-License-Identifier: MIT
 *
 * over.c - decides when a recording is over: no process of the tree can send anything more.
 */
#include "cli/record/recording.h"

#include "base/format.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXEC_MS 1500      /* the time that the new program's agent has to speak after an exec */
#define UNBORN_MS 2000    /* the time that a forked child has until it runs */
#define WAIT_SAID_MS 2000 /* a gate waits so long for what runs on before it says so */
#define SILENCE_MS 5000   /* an agent that was silent for so long has sent all it had */

bool record_execed(const struct recording *r)
{
	int status;
	bool known;

	return model_state(watch_model(r->watch), &status, &known) == MTW_EXECED;
}

/* The agent has not greeted, and had the cpu and the time for it. */
static bool stays_silent(struct recording *r, uint64_t since_ns)
{
	return now_ns() - since_ns > GREETING_MS * 1000000ull && !watch_lags(r->watch, &r->pace);
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
	/* --for counts the program's time, but a busy machine may start no agent within it. */
	if (r->time_ns && (!r->pid || r->connected || stays_silent(r, r->time_ns)))
		r->stop = true;
	if (r->stop)
		return true;
	if (r->pid && !r->ended)
		return false;
	if (!model_final(watch_model(r->watch)))
		r->exec_ns = 0;
	else if (!record_execed(r))
		return true;
	else
		return now - (r->exec_ns ? r->exec_ns : (r->exec_ns = now)) > EXEC_MS * 1000000ull;
	if (r->pid && !r->connected) /* or its agent got no cpu yet */
		return stays_silent(r, r->ended_ns);
	if (live)
		return r->pid && watch_silent_ns(r->watch) > SILENCE_MS * 1000000ull;
	return now - r->link_lost_ns > SILENCE_MS * 1000000ull;
}

/* "sleep [4121] and 2 more" */
static void name_running(const struct recording *r, size_t running, char *text, size_t size)
{
	const struct process *list;
	size_t n = processes_list(r->processes, &list), i = 0;

	while (i < n && ((list[i].state != PROCESS_RUNNING && list[i].state != PROCESS_STARTING) ||
			 !list[i].parent))
		i++;
	int len = i < n ? snprintf(text, size, "%s [%d]", list[i].name, list[i].pid)
			: snprintf(text, size, "a process of it");
	if (running > 1)
		snprintf(text + len, size - (size_t)len, " and %zu more", running - 1);
}

/* For a person at once. A script that named its file needs a clean stderr, and finds the daemon in
 * the table; a gate's log says what it waits for. */
static bool is_told(const struct recording *r)
{
	if (r->gate)
		return now_ns() - r->ended_ns > WAIT_SAID_MS * 1000000ull;
	return r->path_made_up || isatty(STDERR_FILENO);
}

static void say_on(struct recording *r, size_t running)
{
	char how[48], signal[FORMAT_SIGNAL], who[128];

	if (r->said_on || !is_told(r))
		return;
	r->said_on = true;
	if (WIFSIGNALED(r->status))
		snprintf(how, sizeof how, "by %s", format_signal(WTERMSIG(r->status), signal));
	else
		snprintf(how, sizeof how, "with status %d", WEXITSTATUS(r->status));
	name_running(r, running, who, sizeof who);
	warn("%s: ended %s; %s run%s on: recording until %s; ^C ends the recording, --first-only "
	     "does not wait for %s",
	     r->name, how, who, running == 1 ? "s" : "", running == 1 ? "it ends" : "they end",
	     running == 1 ? "it" : "them");
}

bool record_over(struct recording *r)
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
