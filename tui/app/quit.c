/* SPDX-License-Identifier: MIT
 *
 * quit.c - leaving a program that `memtop run` started: whether to ask, and how to stop it with all
 * the processes that it started.
 *
 * All processes of the tree that still run are stopped together. The first program leads its own
 * session, so a signal to its process group reaches the same processes as a terminal's ^C; daemons
 * and jobs of a shell are signalled through their own groups.
 */
#include "app/actions.h"

#include "base/loop.h"
#include "base/procfs.h"

#include <signal.h>
#include <unistd.h>

#define STOPPING_NS 3000000000ull /* a program that was asked to end is waited for */

static bool first_runs(const struct app *a)
{
	return !*a->options->ended;
}

static size_t running(const struct app *a)
{
	struct processes_sum sum;

	processes_total(a->ui.processes, &sum);
	return sum.running;
}

bool quit_question(const struct app *a, char *out, size_t size)
{
	size_t n = running(a);

	if (!first_runs(a) && !n)
		return false;
	if (n > 1 || !first_runs(a))
		snprintf(out, size, "%zu process%s.  l: leave %s running  s: stop %s  Esc: stay", n,
			 n == 1 ? " runs" : "es run", n == 1 ? "it" : "them",
			 n == 1 ? "it" : "them");
	else
		snprintf(out, size, "Running.  l: leave it running  s: stop it  Esc: stay");
	return true;
}

/* Its process group; -1 = unknown. Any process of the tree can write a pid to the board, so it
 * counts only while the process's agent answers, and only in our pid namespace: what it is called
 * in another one is another process here. */
static pid_t group_of(const struct process *p)
{
	bool proved = process_runs(p) && p->pid > 1 && p->watch && watch_live(p->watch) &&
		      !procfs_inner((pid_t)watch_peer(p->watch));
	pid_t group = proved ? getpgid(p->pid) : -1;

	return group > 1 ? group : -1;
}

static bool group_in(const struct process *list, size_t n, pid_t group)
{
	for (size_t i = 0; i < n; i++)
		if (group_of(&list[i]) == group)
			return true;
	return false;
}

void quit_stop(struct app *a)
{
	pid_t first = first_runs(a) ? a->options->child_pid : -1;
	const struct process *list;
	size_t n = processes_list(a->ui.processes, &list);

	if (first > 0 && kill(-first, SIGTERM))
		kill(first, SIGTERM);
	for (size_t i = 0; i < n; i++) {
		pid_t group = group_of(&list[i]);
		if (group > 0 && group != first && !group_in(list, i, group))
			kill(-group, SIGTERM);
	}
	if (a->options->stopped)
		*a->options->stopped = true;
	a->leave_ns = now_ns() + STOPPING_NS;
}

/* Its last states arrived, so the kept session has them. */
static bool all_final(const struct app *a)
{
	return !first_runs(a) && !running(a) && model_final(watch_now(a->first));
}

bool quit_over(const struct app *a, uint64_t now)
{
	return a->leave_ns && (now >= a->leave_ns || all_final(a));
}

void quit_now(struct app *a, int status)
{
	a->quit = true;
	a->status = status;
	loop_stop(a->loop);
}
