/* SPDX-License-Identifier: MIT
 *
 * dormant.c - explains why a process is no session, with the agent in it or without.
 *
 * A forked child counts from its first moment. It becomes a session once its parent has ended or it
 * has lived for two seconds: at its next allocation, or while it waits. A child that does neither
 * (a loop that computes, a read that blocks) cannot start its server. Its mappings tell it from a
 * process without the agent. Its parent, which runs the same program with the agent, tells it from
 * a process whose agent listens elsewhere. An agent that could start no session keeps the reason in
 * the process' memory (agent/base/msg.c).
 */
#include "launch/dormant.h"

#include "launch/agent_server.h"
#include "base/procfs.h"
#include "base/sanitize.h"
#include "attach/ptrace/modules.h"
#include "launch/launch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <memtop/wire.h>

#define PATIENCE 30 /* looks, 10 ms apart */
/* a new server may wait that long for a busy machine */
#define YOUNG_SECONDS 3.0

static int parent_of(int pid)
{
	char path[64], line[256];
	int parent = 0;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "PPid: %d", &parent) == 1)
			break;
	if (f)
		fclose(f);
	return parent;
}

static bool same_program(int a, int b)
{
	char path[2][64], exe[2][PATH_MAX];
	ssize_t n[2];
	int pid[2] = { a, b };

	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof path[i], "/proc/%d/exe", procfs_thread(pid[i]));
		n[i] = readlink(path[i], exe[i], sizeof exe[i]);
	}
	return n[0] > 0 && n[0] == n[1] && !memcmp(exe[0], exe[1], (size_t)n[0]);
}

/* Seconds since the process started; -1: unknown. */
static double seconds_of_life(int pid)
{
	char path[64], text[1024];
	unsigned long long ticks;
	struct timespec now;
	double lived = -1;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	text[n] = '\0';
	const char *name_end = strrchr(text, ')');
	/* field 22, counted from the state, which is field 3 */
	if (name_end &&
	    sscanf(name_end + 1,
		   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%llu",
		   &ticks) == 1 &&
	    clock_gettime(CLOCK_BOOTTIME, &now) == 0)
		lived = (double)now.tv_sec + (double)now.tv_nsec / 1e9 -
			(double)ticks / (double)sysconf(_SC_CLK_TCK);
	if (f)
		fclose(f);
	return lived;
}

/* A process that has just started may listen soon. */
static bool listens_soon(int pid)
{
	struct timespec pause = { 0, 10000000 };
	bool young = true;

	for (int i = 0; i < PATIENCE || young; i++) {
		double lived = seconds_of_life(pid);
		young = lived >= 0 && lived < YOUNG_SECONDS;
		if (launch_listed(pid, NULL))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool name_of(int pid, char *name, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(name, (int)size, f) || name[0] == '\n')
		snprintf(name, size, "the process");
	fclose(f);
	name[strcspn(name, "\n")] = '\0';
	return true;
}

int dormant_check(const struct target *t, bool *attachable, struct err *err)
{
	int pid = t->pid, parent;
	char name[64], said[512] = "";
	struct proc_stat stat;

	if (attachable)
		*attachable = false;
	if (launch_listed(pid, NULL))
		return 0;
	pid_t program = agent_server_program(pid);
	if (program) {
		if (!name_of(program, name, sizeof name))
			snprintf(name, sizeof name, "?");
		return agent_server_explain(t->text, program,
					    sanitize_clean(name, sizeof name, name), err);
	}
	if (!name_of(pid, name, sizeof name))
		return err_set(
			err, 3,
			"%s: no such process; memtop list shows processes that have an agent",
			t->text);
	if (procfs_stat(pid, &stat) && stat.ended)
		return err_set(err, 3,
			       "%s: %s has ended: a zombie that its parent %d has not waited for; "
			       "start it again",
			       t->text, name, (int)stat.parent);
	bool there = procfs_maps(pid, AGENT_FILE) > 0;
	if (there)
		inject_said(pid, said, sizeof said);
	bool detached = !strcmp(said, MTW_SAID_DETACHED);
	if (there && !detached && listens_soon(pid))
		return 0;
	if (there && !detached)
		inject_said(pid, said, sizeof said);
	parent = *said ? 0 : parent_of(pid);
	if (there && parent > 1 && same_program(pid, parent) && procfs_maps(parent, AGENT_FILE) > 0)
		return err_set(err, 3,
			       "%s: %s is a forked child: its agent counts, but it becomes a "
			       "session only after two seconds, when it allocates or waits; try "
			       "again then, or watch its parent: -p %d",
			       t->text, name, parent);
	if (attachable)
		*attachable = true;
	if (!there)
		return err_set(err, 3,
			       "%s: %s runs without the agent: nothing listens on @memtop.%d; use "
			       "memtop attach %d",
			       t->text, name, pid, pid);
	if (detached)
		return err_set(err, 3,
			       "%s: %s has no session: its agent was detached; memtop attach %d "
			       "begins another one",
			       t->text, name, pid);
	if (*said)
		return err_set(err, 3, "%s: %s has the agent, but no session: %s", t->text, name,
			       said);
	return err_set(
		err, 3,
		"%s: %s has the agent, but no session under this number: it was detached or its "
		"server was killed (memtop attach %d brings it back), it forked and has "
		"neither allocated nor waited since, or listen= names another or a taken address; "
		"see memtop list",
		t->text, name, pid);
}
