/* SPDX-License-Identifier: MIT
 *
 * inject.h - load the agent into a running process: one of its threads is made to call dlopen, then
 * memtop_attach, and goes on as if nothing had been.
 *
 * Everything here is called in a process of its own (attach.c forks it): what that traces is let go when it ends, whatever
 * becomes of memtop, and a thread that does not come back from the kernel can be waited for there.
 */
#ifndef INJECT_H
#define INJECT_H

#include "base.h"
#include <sys/types.h>

struct inject_job {
	pid_t pid;
	const char *name;          /* of the process, for messages */
	const char *path;          /* of the agent; NULL = it is loaded already */
	bool copy;                 /* the process does not see that file: it gets one in a memfd */
	const char *proc;          /* copy: the process' folder in its own /proc */
	const char *options;       /* for memtop_attach */
	bool filtered;             /* it has seccomp filters of its own: they are asked first */
};

/* What came of it; plain bytes, for it is sent through a pipe. */
struct inject_result {
	int rc;                    /* 0, -1 */
	struct err err;
	int code;                  /* of memtop_attach when it was called and refused, else 0 */
	pid_t tid;                 /* the thread that was used */
	uint64_t stopped_ns;       /* from its stop to its release */
	uint64_t called_ns;        /* of that: from its safe point on */
	unsigned threads, steps;   /* looked at; single steps made */
	bool idle;                 /* it waited in the kernel; else it ran */
};

/*
 * Fills *r in each case. Never leaves a thread changed, unless r->err says that the process ended. When the thread that runs
 * dlopen cannot be stopped `said` is called with the message, and inject() returns only after it has put that thread right.
 */
void inject(const struct inject_job *job, struct inject_result *r, void (*said)(void *arg, const struct inject_result *r), void *arg);

#endif
