/* SPDX-License-Identifier: MIT
 *
 * thread.h - one thread of another process under ptrace: stop it, let it run, make it call, release
 * it as it was. Runs in the separate process that attach/ptrace/inject.h describes, whose regular
 * SIGALRM ends the waits.
 *
 * A thread is never single-stepped. If the tracer ends, the kernel leaves the step to the thread,
 * and its SIGTRAP then kills the program. The kernel takes back a requested stop instead.
 */
#ifndef ATTACH_PTRACE_THREAD_H
#define ATTACH_PTRACE_THREAD_H

#include "attach/ptrace/arch.h"
#include "attach/ptrace/modules.h"

enum inject_stop {
	STOP_HERE,    /* as asked for: interrupted, or the call has returned */
	STOP_FAULT,   /* a signal that the code itself caused: t->signal */
	STOP_LATE,    /* not within the time; it still runs */
	STOP_GONE,    /* the thread or its process ended */
	STOP_REFUSED, /* the kernel refused: t->why */
};

struct inject_thread {
	pid_t pid, tid;
	int why;               /* errno of STOP_REFUSED */
	int signal;            /* of STOP_FAULT */
	int pass;              /* a signal to deliver when it is let go, 0 = none */
	bool stopped, changed; /* changed: its registers are ours, saved has its own */
	bool group;            /* it stopped with its whole process: SIGSTOP, job control */
	/* of a system call of ours: its begin and end, those that are still to come */
	int call_stops;
	uint64_t mask; /* its blocked signals, when masked */
	bool masked;
	struct inject_regs regs;  /* as last read */
	struct inject_regs saved; /* what it goes on with */
};

/* Stops it where it is. t->pid and t->tid are set by the caller, all else 0. */
enum inject_stop inject_thread_stop(struct inject_thread *t, uint64_t until_ns);
/* Asks a running one to stop, and waits for it. */
enum inject_stop inject_thread_interrupt(struct inject_thread *t, uint64_t until_ns);
/* A stop that came too late: STOP_HERE, STOP_GONE, or STOP_LATE still. Does not wait. */
enum inject_stop inject_thread_look(struct inject_thread *t);
/* Lets a stopped one run on for so long, as it was, then as inject_thread_interrupt(). */
enum inject_stop inject_thread_run_on(struct inject_thread *t, uint64_t ns, uint64_t until_ns);
/* Reads t->regs. 0 or -errno. */
int inject_thread_read(struct inject_thread *t);

/* From here on t->saved is what t goes on with, and only signals that its own code causes reach it.
 * 0 or -errno. */
int inject_thread_borrow(struct inject_thread *t);
/* Begins fn(a, b) on a stack that ends at `top`. STOP_HERE: it is on its way, inject_thread_await()
 * has its result. */
enum inject_stop inject_thread_call(struct inject_thread *t, const struct inject_modules *m,
				    uint64_t fn, uint64_t a, uint64_t b, uint64_t top);
/* Begins a system call by the instruction at `gadget`, likewise; its result is -errno as the kernel
 * returns it. */
enum inject_stop inject_thread_syscall(struct inject_thread *t, uint64_t gadget, long nr,
				       const uint64_t args[6]);
/* Waits for the end of what was begun. STOP_LATE: it is under way still, and can be waited for
 * again. */
enum inject_stop inject_thread_await(struct inject_thread *t, uint64_t until_ns, uint64_t *result);
/* Own registers, own mask. 0 or -errno. */
int inject_thread_give_back(struct inject_thread *t);
/* Lets a stopped one go; it goes on with what it has. */
void inject_thread_release(struct inject_thread *t);

#endif
