/* SPDX-License-Identifier: MIT
 *
 * attach.h - loads the agent into a process that runs without it. Main thread only; the call blocks
 * memtop for up to some 20 s.
 */
#ifndef ATTACH_ATTACH_H
#define ATTACH_ATTACH_H

#include "link/watch.h"
#include <sys/types.h>

struct attach_options {
	const char *agent;   /* --agent, or NULL: as launch/launch.h finds it */
	const char *options; /* extra MEMTOP_OPTIONS, NULL = none */
};

struct attached {
	struct target target; /* where its agent listens */
	pid_t pid;
	char name[64];           /* of the process, clean */
	char note[512];          /* a sentence: what memtop will not see; "" = nothing */
	uint64_t stopped_ns;     /* how long the thread was stopped */
	uint64_t whole_ns;       /* of all */
	unsigned threads, looks; /* threads that were stopped; how often one was looked at */
	bool idle;               /* the thread waited; else it ran */
};

/*
 * 0 when the agent counts and listens. -1 and *err (3; 125 when no agent is found): the sentence
 * names what stands in the way and the one thing to do; the process is as it was, but that the
 * agent's file stays mapped, without hooks, where the agent itself refused (options, memory, a
 * server that cannot start).
 */
int attach_program(pid_t pid, const struct attach_options *o, struct attached *a, struct err *err);

/* attach/jdwp/attach.c: by the debug port of a Java program, which asks for no right to trace
 * it. */

struct attach_jdwp_options {
	const struct target *port; /* TARGET_TCP, of this machine */
	pid_t pid;                 /* the port's owner; 0 = ask the machine */
	const char *agent;         /* as above; a named one is a path as the process sees it */
	const char *break_at;      /* "pkg.Class.method", or NULL: attach/jdwp/jdwp.h chooses */
	int timeout_ms;
	void (*waiting)(void *arg, const char *what); /* attach/jdwp/jdwp.h */
	void *arg;
};

/* As attach_program(); of *a are set: target, name, stopped_ns, whole_ns. */
int attach_jdwp(const struct attach_jdwp_options *o, struct attached *a, struct err *err);

/* What both ways ask, attach/attach.c. */

struct attach_facts;
int attach_refuse_second(pid_t pid, const char *name, struct err *err);
/* Chooses the agent for this kind of program. 0; -1 and *err: no agent fits the program or the
 * given options. */
int attach_choose_agent(pid_t pid, const char *name, const char *given, char *agent, size_t size,
			struct err *err);
/* does it see the same file by the same path, and may it load it? */
bool attach_sees(const struct attach_facts *f, const char *agent);

/* attach/check.c: what can be told before anything is stopped. */

struct attach_facts {
	/* inner: in its own pid namespace; 0 = none, each of them. thread: procfs_thread() */
	pid_t pid, self, group, parent, tracer, inner, thread;
	/* pid is an agent's server: its program, as in launch/agent_server.h; 0 = it is no
	 * server */
	pid_t program;
	char name[64], parent_name[64], tracer_name[64], program_name[64], state;
	bool gone, ending, kernel, other_user, dumpable,
		capable; /* capable: memtop has CAP_SYS_PTRACE */
	bool allowed;    /* the kernel lets memtop trace it, whatever the next ones say */
	/* it has capabilities that memtop lacks */
	bool more_capable;
	unsigned uid, own_uid;    /* effective */
	int ptrace_scope;         /* kernel.yama.ptrace_scope, 0 without Yama */
	int seccomp;              /* 0, 1 = strict, 2 = filters */
	int filters, own_filters; /* of seccomp */
	/* x86: a return address that the thread itself did not push is a fault */
	bool shadow_stack;
	bool uid_unmapped; /* its user namespace lacks its own user */
	int threads;
	bool other_network; /* its abstract sockets are not memtop's */
};

/* Reads the facts from /proc. Never fails: f->gone. */
void attach_facts(pid_t pid, struct attach_facts *f);
/* 0, or -1 and *err. Pure. */
int attach_judge(const struct attach_facts *f, struct err *err);
/* As attach_judge() does of a process with a tracer. */
int attach_refuse_traced(const char *name, pid_t tracer, struct err *err);
/* "4121 (redis-server)" */
const char *attach_name(const struct attach_facts *f, char *buf, size_t size);

#endif
