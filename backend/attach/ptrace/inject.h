/* SPDX-License-Identifier: MIT
 *
 * inject.h - loads the agent into a running process: one of its threads is made to call dlopen,
 * then memtop_attach, and continues as if nothing had happened.
 *
 * All functions run in a process that attach/attach.c forks. The kernel releases its tracees when
 * it ends, whatever happens to memtop, and it can wait for a thread that does not return from the
 * kernel.
 */
#ifndef ATTACH_PTRACE_INJECT_H
#define ATTACH_PTRACE_INJECT_H

#include "base/base.h"
#include <sys/types.h>

struct inject_job {
	pid_t pid;
	const char *name;    /* of the process, for messages */
	const char *path;    /* of the agent; NULL = it is loaded already */
	bool copy;           /* the process does not see that file: it gets one in a memfd */
	const char *proc;    /* copy: the process' folder in its own /proc */
	const char *options; /* for memtop_attach */
	bool filtered;       /* it has seccomp filters of its own: they are asked first */
};

/* What came of it; plain bytes, for it is sent through a pipe. */
struct inject_result {
	int rc; /* 0, -1 */
	struct err err;
	int code;                /* of memtop_attach when it was called and refused, else 0 */
	pid_t tid;               /* the thread that was used */
	uint64_t stopped_ns;     /* from its stop to its release */
	uint64_t called_ns;      /* of that: from its safe point on */
	unsigned threads, looks; /* threads that were stopped; how often one was looked at */
	bool idle;               /* it waited in the kernel; else it ran */
	bool lingers;            /* threads are still to be let go, when they get to run */
};

/*
 * Fills *r in each case. Never leaves a thread changed, unless r->err says that the process ended.
 * What takes long in the process (a quota of cpu time, a frozen container, a slow disk) is waited
 * for, however long that is: `said` is called with the message or the success as soon as it is
 * known, and inject_agent() returns only after every thread was put right and let go.
 */
void inject_agent(const struct inject_job *job, struct inject_result *r,
		  void (*said)(void *arg, const struct inject_result *r), void *arg);

#endif
