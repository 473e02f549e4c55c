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
	STOP_FAULT,   /* a signal that the code raised: t->signal */
	STOP_LATE,    /* not within the time; it still runs */
	STOP_GONE,    /* the thread or its process ended */
	STOP_REFUSED, /* the kernel refused: t->why */
};

struct inject_thread {
	pid_t pid, tid;
	int why;               /* errno of STOP_REFUSED */
	int signal;            /* of STOP_FAULT */
	int pass;              /* a signal to deliver on release, 0 = none */
	bool stopped, changed; /* changed: it has injected registers, saved its own */
	bool group;            /* it stopped with its whole process: SIGSTOP, job control */
	/* stops that an injected system call still makes: at its begin and end */
	int call_stops;
	uint64_t mask; /* its blocked signals, when masked */
	bool masked;
	struct inject_regs regs;  /* as last read */
	struct inject_regs saved; /* its registers after the release */
};

/* Stops the thread. The caller sets t->pid and t->tid, all else 0. */
enum inject_stop inject_thread_stop(struct inject_thread *t, uint64_t until_ns);
/* Stops a running thread, and waits for it. */
enum inject_stop inject_thread_interrupt(struct inject_thread *t, uint64_t until_ns);
/* Checks a late stop without waiting: STOP_HERE, STOP_GONE, or still STOP_LATE. */
enum inject_stop inject_thread_look(struct inject_thread *t);
/* Lets a stopped thread run for that time, then stops it as inject_thread_interrupt() does. */
enum inject_stop inject_thread_run_on(struct inject_thread *t, uint64_t ns, uint64_t until_ns);
/* Reads t->regs. 0 or -errno. */
int inject_thread_read(struct inject_thread *t);

/* Saves t's registers to t->saved for its release, and blocks all signals but those of its own
 * code. 0 or -errno. */
int inject_thread_borrow(struct inject_thread *t);
/* Begins fn(a, b) on a stack that ends at `top`. STOP_HERE: it runs, and inject_thread_await()
 * has its result. */
enum inject_stop inject_thread_call(struct inject_thread *t, const struct inject_modules *m,
				    uint64_t fn, uint64_t a, uint64_t b, uint64_t top);
/* Begins a system call at the instruction at `gadget`, likewise; the result is -errno as the
 * kernel returns it. */
enum inject_stop inject_thread_syscall(struct inject_thread *t, uint64_t gadget, long nr,
				       const uint64_t args[6]);
/* Waits for the end of the call. STOP_LATE: it still runs, and can be awaited again. */
enum inject_stop inject_thread_await(struct inject_thread *t, uint64_t until_ns, uint64_t *result);
/* Restores its own registers and mask. 0 or -errno. */
int inject_thread_give_back(struct inject_thread *t);
/* Releases a stopped thread with the registers that it has. False: it was killed meanwhile, and
 * stays its tracer's until an inject_thread_look() says STOP_GONE: its process cannot end before.
 */
bool inject_thread_release(struct inject_thread *t);

#endif
