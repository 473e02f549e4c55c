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
	/* processes_board(): follow its forks and the programs that it executes; NULL = do not */
	const char *board;
	const char *stdin_path; /* NULL = /dev/null (run); "-" = inherit (record) */
	bool own_session;       /* run: setsid; record: inherits everything */
	/* record on a terminal: SIGHUP is ignored, as by nohup, unless the program handles it */
	bool outlives_terminal;
	/* [2]: where stdout and stderr go, each -1 = as memtop's; NULL: both. Borrowed */
	const int *output;
};

struct launched {
	pid_t pid;
	char socket[108]; /* abstract name where its agent listens */
	char note[512];   /* a sentence for watch_note(): what memtop will not see; "" = nothing */
	char folder[256]; /* launch/plain_path.h's; "" = none */
	/* a static program, without an agent: those that it executes have one, and report to the
	 * board; socket is none */
	bool launcher;
	uint64_t since_ns; /* CLOCK_MONOTONIC, before the start */
};

/*
 * 0, or -1 with err->status 125, 126 (not executable, static, setuid, other architecture) or 127. A
 * static program is started where there is a board and an argument names a program that the agent
 * can go into (tini, gosu), or where follow_static=yes is given.
 */
int launch_program(char *const argv[], const struct launch_options *o, struct launched *l,
		   struct err *err);
/* When memtop is done with the program, which may run on. */
void launch_end(const struct launched *l);
/* Path of the agent to use; musl: for a musl program (musl/ beside the other). A given path is
 * used as it is. */
int launch_find_agent(const char *given, bool musl, char *path, size_t size, struct err *err);
/* The first existing file beside memtop, in ../lib/memtop or in PREFIX/lib/memtop:
 * "android/x86_64/libmemtop-agent.so". */
bool launch_installed(const char *name, char *path, size_t size);

/* A process of this machine with an agent, and its agent's address. */
struct agent_process {
	pid_t pid;
	char name[64];
	char socket[108]; /* an abstract name, or */
	bool path;        /* a path */
	/* 0: the address holds here; else where this process is (launch/elsewhere.h) */
	pid_t through;
	pid_t server; /* of its agent; 0 = unknown, as `clients` */
	int clients;  /* connections to it now; -1 = unknown: another user's, or a thread */
};
/* By pid; the caller frees the list. Of other users' agents, only those on memtop.PID of this
 * network namespace. */
size_t launch_list(struct agent_process **list);
/* A process whose agent could not listen at the requested address. */
struct unheard_process {
	pid_t pid;
	char name[64];
	char why[512];
};
/* of processes whose memory memtop may read; the caller frees the list */
size_t launch_unheard(struct unheard_process **list);
/* Does launch_list() have the process? a: its entry; NULL = not wanted. */
bool launch_listed(pid_t pid, struct agent_process *a);

#endif
