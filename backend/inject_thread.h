/* SPDX-License-Identifier: MIT
 *
 * inject_thread.h - one thread of another process under ptrace: stop it, step it, have it call, let it go
 * as it was. In the process of its own that inject.h speaks of, whose SIGALRM comes regularly: it ends
 * the waits.
 */
#ifndef INJECT_THREAD_H
#define INJECT_THREAD_H

#include "inject_arch.h"
#include "inject_modules.h"

enum inject_stop {
	STOP_HERE,      /* as asked for: interrupted, one instruction further, at a system call's begin or end, returned to 0 */
	STOP_FAULT,     /* a signal that the code itself caused: t->signal */
	STOP_LATE,      /* not within the time; it still runs */
	STOP_GONE,      /* the thread or its process ended */
	STOP_REFUSED,   /* the kernel refused: t->why */
};

struct inject_thread {
	pid_t pid, tid;
	int why;                   /* errno of STOP_REFUSED */
	int signal;                /* of STOP_FAULT */
	int pass;                  /* a signal to deliver when it is let go, 0 = none */
	bool stopped, changed;     /* changed: its registers are ours, saved has its own */
	uint64_t mask;             /* its blocked signals, when masked */
	bool masked;
	struct inject_regs regs;   /* as last read */
	struct inject_regs saved;  /* what it goes on with */
};

/* Stops it where it is. t->pid and t->tid are set by the caller, all else 0. */
enum inject_stop inject_thread_stop(struct inject_thread *t, uint64_t until_ns);
/* Asks a running one to stop, and waits for it. */
enum inject_stop inject_thread_interrupt(struct inject_thread *t, uint64_t until_ns);
/* Whether a stop that came too late is there now. */
bool inject_thread_has_stopped(struct inject_thread *t);
/* False: it blocks SIGTRAP; a step would make the kernel unblock that, and reset its handler. */
bool inject_thread_may_step(const struct inject_thread *t);
/* One instruction, and what signals wait for it are delivered. STOP_LATE: it blocks in a system call. */
enum inject_stop inject_thread_step(struct inject_thread *t, uint64_t until_ns);
/* Reads t->regs. 0 or -errno. */
int inject_thread_read(struct inject_thread *t);

/* From here on t->saved is what t goes on with, and only signals that its own code causes reach it. 0 or -errno. */
int inject_thread_borrow(struct inject_thread *t);
/* fn(a, b) on a stack that ends at `top`; *result. */
enum inject_stop inject_thread_call(struct inject_thread *t, const struct inject_modules *m, uint64_t fn, uint64_t a, uint64_t b,
				    uint64_t top, uint64_t until_ns, uint64_t *result);
/* A system call by the instruction at `gadget`; *result: -errno as the kernel returns it. */
enum inject_stop inject_thread_syscall(struct inject_thread *t, uint64_t gadget, long nr, const uint64_t args[6],
				       uint64_t until_ns, long *result);
/* Own registers, own mask. 0 or -errno. */
int inject_thread_give_back(struct inject_thread *t);
/* Let go; a stopped one goes on with what it has, one that runs is left to the kernel at our end. */
void inject_thread_release(struct inject_thread *t);

#endif
