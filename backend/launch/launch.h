/* SPDX-License-Identifier: MIT
 *
 * launch.h - starts a program under the agent. Main thread only.
 */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include "base/base.h"
#include <sys/types.h>

struct launch_options {
	/* --agent, or NULL: MEMTOP_AGENT, beside the binary, PREFIX/lib/memtop */
	const char *agent;
	const char *options; /* extra MEMTOP_OPTIONS, NULL = none */
	/* processes_board(): its forks and the programs that it executes are followed; NULL = they
	 * are not */
	const char *board;
	const char *stdin_path; /* NULL = /dev/null (run); "-" = inherit (record) */
	bool own_session; /* run: setsid, output into the spool; record: inherits everything */
	int output_fd;    /* where stdout and stderr go when own_session */
};

struct launched {
	pid_t pid;
	char socket[108]; /* abstract name where its agent listens */
	char note[512]; /* what will not be seen of it, a sentence for watch_note(); "" = nothing */
};

/* 0, or -1 with err->status 125, 126 (not executable, static, setuid, other architecture) or
 * 127. */
int launch_program(char *const argv[], const struct launch_options *o, struct launched *l,
		   struct err *err);
/* Path of the agent that would be used; musl: for a program of that libc (musl/ beside the other).
 * A named one is taken as it is. */
int launch_find_agent(const char *given, bool musl, char *path, size_t size, struct err *err);
/* A file beside memtop, in ../lib/memtop or PREFIX/lib/memtop, the first that is there:
 * "android/x86_64/libmemtop-agent.so". */
bool launch_installed(const char *name, char *path, size_t size);

/* A process of this machine that has an agent, and where that listens. */
struct agent_process {
	pid_t pid;
	char name[64];
	char socket[108]; /* an abstract name, or */
	bool path;        /* a path */
};
/* Those of our network namespace, by pid; the list is the caller's to free. Of others' agents only
 * those on memtop.PID. */
size_t launch_list(struct agent_process **list);
/* One whose agent could not listen where it was told to. */
struct unheard_process {
	pid_t pid;
	char name[64];
	char why[512];
};
/* of those whose memory we may read; the caller's to free */
size_t launch_unheard(struct unheard_process **list);
/* Whether the process is one of the first kind. */
bool launch_listed(pid_t pid, struct agent_process *a);

#endif
