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
	const char *path;    /* of the agent; it is loaded unless that build of it is */
	bool copy;           /* the process does not see that file: it gets one in a memfd */
	const char *proc;    /* copy: the process' folder in its own /proc */
	const char *options; /* for memtop_attach */
	bool filtered;       /* it has its own seccomp filters: run them first */
};

/* The result; plain bytes, sent through a pipe. */
struct inject_result {
	int rc; /* 0, -1 */
	struct err err;
	int code; /* of memtop_attach when it was called, else 0 */
	/* where the agent of another build starts that was loaded before and is used, 0 = none: it
	 * has a session, or the new one could not be loaded; then err says why */
	uint64_t older;
	pid_t tracer;            /* it failed because this one traces the process, err is empty */
	pid_t tid;               /* the thread that was used */
	uint64_t stopped_ns;     /* from its stop to its release */
	uint64_t called_ns;      /* part of it: from the safe point on */
	unsigned threads, looks; /* threads that were stopped; how often one was looked at */
	bool idle;               /* the thread waited in the kernel; else it ran */
	bool lingers;            /* some threads are released only when they run again */
};

/* The name of the process that traces. */
#define INJECT_NAME "memtop-attach"

/* Does this process trace for a `memtop attach`? By its name: older ones have memtop's. */
bool inject_is_attach(pid_t tracer);
bool inject_names_attach(const char *name);

/*
 * Always fills *r. Never leaves a thread changed, unless r->err says that the process ended. A slow
 * process (a quota of cpu time, a frozen container, a slow disk) is waited for without limit:
 * `said` gets the message or the success as soon as it is known, and inject_agent() returns only
 * after every thread is restored and released.
 */
void inject_agent(const struct inject_job *job, struct inject_result *r,
		  void (*said)(void *arg, const struct inject_result *r), void *arg);

#endif
