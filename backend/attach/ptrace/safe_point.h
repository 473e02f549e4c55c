/* SPDX-License-Identifier: MIT
 *
 * safe_point.h - may a stopped thread be made to call dlopen where it is? Not while it holds a lock
 * that dlopen takes: the allocator's or the loader's. Runs in the tracing process.
 */
#ifndef ATTACH_PTRACE_SAFE_POINT_H
#define ATTACH_PTRACE_SAFE_POINT_H

#include "attach/ptrace/modules.h"
#include "attach/ptrace/thread.h"

/* Android's C library defines it, and others __libc_start_main */
#define INJECT_BIONIC "__libc_init"

/* The process' facts that decide: filled once, before anything is stopped. */
struct inject_ground {
	const struct inject_modules *modules;
	const struct inject_module *libc;         /* borrowed from modules */
	uint64_t dlopen, dlerror, errno_location; /* addresses; dlerror: 0 = none */
	int dlopen_flags;
	uint64_t gadget;     /* of a system call instruction */
	bool inside[512];    /* by module: its code may hold such a lock */
	bool foreign_malloc; /* the allocator is not the C library's own */
	bool program_malloc; /* it is the program's */
	bool bionic;         /* libc is Android's */
};

/* 0; -1: there is no libc with dlopen, or no system call in it. */
int inject_ground(struct inject_ground *g, const struct inject_modules *m);

enum inject_where {
	WHERE_SAFE, /* it runs, outside of all that may hold a lock */
	WHERE_IDLE, /* it waits in the kernel, for no lock of the process */
	/* it runs where it may hold such a lock; it may leave a moment later */
	WHERE_INSIDE,
	WHERE_WAITS, /* in a system call that may run under a lock */
};

/* The state of a thread before it is stopped, best first. */
enum inject_promise { PROMISE_IDLE, PROMISE_RUNS, PROMISE_FUTEX, PROMISE_NONE };
struct inject_candidate {
	pid_t tid;
	enum inject_promise promise;
};
/* All threads of a process; the caller frees them. */
struct inject_candidate *inject_candidates(pid_t pid, size_t *count);

/* Does the system call only wait? A repeated call then does the same. */
bool inject_waits(long nr);

/* t was stopped, and t->regs is read. */
enum inject_where inject_judge(const struct inject_ground *g, const struct inject_thread *t);

#endif
