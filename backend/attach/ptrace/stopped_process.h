/* SPDX-License-Identifier: MIT
 *
 * stopped_process.h - a process that is made to load the agent, for attach/ptrace/search.c (finds a
 * thread at a safe point) and attach/ptrace/inject.c (makes the calls on it). Main thread only.
 */
#ifndef ATTACH_PTRACE_STOPPED_PROCESS_H
#define ATTACH_PTRACE_STOPPED_PROCESS_H

#include "attach/ptrace/inject.h"
#include "attach/ptrace/modules.h"
#include "attach/ptrace/safe_point.h"
#include "attach/ptrace/thread.h"
#include "base/base.h"
#include "attach/ptrace/arch.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/types.h>

/* stuck.c: does a call in another process hang, or does it only take long? Reads /proc alone,
 * while the thread runs. */

#define STUCK_THREADS 512

struct stuck_thread {
	pid_t tid;
	char state;     /* as /proc names it */
	uint64_t ticks; /* of cpu time */
};

/* All 0 when the call begins. */
struct inject_stuck {
	uint64_t since_ns; /* start of the current wait, 0 = not waiting */
	uint64_t word;     /* address of the futex */
	size_t count;
	struct stuck_thread then[STUCK_THREADS]; /* the process' threads at that time */
};

/* Call it regularly while the call in tid runs. True: the call hangs. */
bool inject_is_stuck(struct inject_stuck *s, pid_t pid, pid_t tid);

/* Did every thread of `now` but tid run since s->then, or sleep? For tests. */
bool inject_all_had_a_turn(const struct inject_stuck *s, const struct stuck_thread *now,
			   size_t count, pid_t tid);

#define CALL_NS                                                                                    \
	10000000000ull /* for one call; then the user is told, and the call is waited for          \
			*/
#define STARVED_NS 180000000000ull /* ... while the process gets on, but hardly gets to run */
#define STOP_NS 50000000ull        /* limit for a thread to stop when others can be tried */

struct inject_work {
	const struct inject_job *job;
	struct inject_result *r;
	struct inject_modules modules;
	struct inject_ground ground;
	struct inject_thread thread, other; /* other: a late one, while a call is under way */
	pid_t late[64];                     /* threads that did not stop in time, but will */
	size_t late_count;
	bool refused, stopped; /* some thread could not be traced; some was stopped */
	bool group;            /* the process was stopped meanwhile: SIGSTOP, job control */
	bool other_program;    /* it executed another program */
	bool told;             /* said() was called for a call that takes long */
	uint32_t random;
	struct inject_stuck stuck; /* the call under way */
	uint64_t scratch;          /* the stack in the process, 0 = none */
	uint64_t errno_at;
	int errno_value;
	void (*said)(void *arg, const struct inject_result *r);
	void *arg;
};

#define FAIL(w, ...) (err_set(&(w)->r->err, 3, __VA_ARGS__))

/* regs.c: saves and restores all registers of a stopped thread. */

int inject_regs_read(pid_t tid, struct inject_regs *r); /* all of the machine's sets */
int inject_regs_write(pid_t tid, const struct inject_regs *r);

/* search.c: finds a thread at a safe point. */

/* w->thread is stopped where it holds no lock. 0; -1 and w->r->err. */
int search_safe_point(struct inject_work *w);
/* Makes a wait that returned EINTR because of the stop run again. t->saved holds the thread's
 * registers. */
void search_wait_again(struct inject_work *w, struct inject_thread *t);
void search_release(struct inject_work *w, struct inject_thread *t);
void search_let_late_go(struct inject_work *w);   /* releases those that have stopped */
void search_wait_for_late(struct inject_work *w); /* all of them */

/* seccomp.c: would a process' seccomp filters kill it for the system calls that load the agent?
 * Runs in the tracing process. */

enum inject_verdict {
	VERDICT_FREE,    /* every call passes, or fails with an errno */
	VERDICT_DEADLY,  /* *call names one that kills */
	VERDICT_UNKNOWN, /* the filters cannot be read */
};

/* The caller traces tid, which is stopped. */
enum inject_verdict inject_seccomp(pid_t tid, const char **call);

/* One filter's result for a call (SECCOMP_RET_*); SECCOMP_RET_KILL_PROCESS for an invalid
 * filter. Pure. */
uint32_t inject_filter_run(const struct sock_filter *program, size_t length,
			   const struct seccomp_data *data);

#endif
