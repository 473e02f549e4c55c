/* SPDX-License-Identifier: MIT
 *
 * inject_thread.c - ptrace on one thread (ptrace(2): SEIZE, so that nothing is sent to the process).
 *
 * Three kinds of stops are told apart. Ours: PTRACE_EVENT_STOP after an interrupt, SIGTRAP after a step, SIGTRAP|0x80
 * at system calls. Group stops (SIGSTOP of somebody) are EVENT_STOP too: the thread is made to go on, and
 * the kernel puts it into the stop of its group when it is let go. And signals for the program.
 *
 * Signals: a fault of ours while SIGSEGV is blocked would make the kernel reset its handler for the whole process
 * (force_sig), so that none that a fault causes is blocked while the thread is borrowed; all others
 * are, and wait in the kernel with all they carry. While it steps through its own code signals are delivered at once.
 */
#include "inject_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEEKED 8 /* signals that wait for a thread */
#define EVENT(status) ((unsigned)(status) >> 16)
#define CAUSED (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1))

/* The next stop of any kind: its status; -1 and errno: EINTR = not in time, ECHILD = it is gone. */
static int wait_stop(struct inject_thread *t, uint64_t until_ns)
{
	int status;

	for (;;) {
		pid_t got = waitpid(t->tid, &status, __WALL);
		if (got == t->tid)
			break;
		if (errno != EINTR)
			return -1;
		if (now_ns() >= until_ns) {
			errno = EINTR;
			return -1;
		}
	}
	if (!WIFSTOPPED(status)) {
		t->stopped = false;
		errno = ECHILD;
		return -1;
	}
	t->stopped = true;
	return status;
}

static bool resume(struct inject_thread *t, int request, int signal)
{
	if (ptrace(request, t->tid, NULL, (void *)(long)signal))
		return false; /* ESRCH: killed meanwhile; the wait tells */
	t->stopped = false;
	return true;
}

static enum inject_stop no_stop(void)
{
	return errno == EINTR ? STOP_LATE : STOP_GONE;
}

/* On to the stop for what step_pends(), which is not passed on. No instruction comes between. */
static enum inject_stop take_step(struct inject_thread *t, uint64_t until_ns)
{
	int pass = 0;

	for (;;) {
		resume(t, PTRACE_CONT, pass);
		int status = wait_stop(t, until_ns);
		if (status < 0)
			return no_stop();
		if (WSTOPSIG(status) == SIGTRAP && !EVENT(status))
			return STOP_HERE;
		pass = EVENT(status) ? 0 : WSTOPSIG(status);
	}
}

/*
 * The end of a step into a system call that blocks comes after the interrupt that ends that call, and waits as a signal: let
 * go with it the program would end. A breakpoint of its own has SI_KERNEL, or traps again.
 */
static bool step_pends(const struct inject_thread *t)
{
	const struct __ptrace_peeksiginfo_args first = { .nr = PEEKED };
	siginfo_t info[PEEKED];
	long count = ptrace(PTRACE_PEEKSIGINFO, t->tid, &first, info);

	for (long i = 0; i < count; i++)
		if (info[i].si_signo == SIGTRAP && (info[i].si_code == TRAP_BRKPT || info[i].si_code == TRAP_TRACE))
			return true;
	return false;
}

/* Until it stops for our interrupt. Its own signals are delivered on the way. */
static enum inject_stop wait_interrupt(struct inject_thread *t, uint64_t until_ns)
{
	for (;;) {
		int status = wait_stop(t, until_ns);

		if (status < 0)
			return no_stop();
		if (EVENT(status) == PTRACE_EVENT_STOP && !step_pends(t))
			return STOP_HERE;
		if (EVENT(status) == PTRACE_EVENT_STOP)
			return take_step(t, until_ns);
		/* a step that ended just before is not a signal of the program */
		int signal = WSTOPSIG(status) & 0x80 ? 0 : WSTOPSIG(status);
		siginfo_t info;
		if (signal == SIGTRAP && (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) || info.si_code > 0))
			signal = 0;
		resume(t, PTRACE_CONT, signal);
	}
}

enum inject_stop inject_thread_interrupt(struct inject_thread *t, uint64_t until_ns)
{
	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL))
		return STOP_GONE;
	return wait_interrupt(t, until_ns);
}

enum inject_stop inject_thread_stop(struct inject_thread *t, uint64_t until_ns)
{
	if (ptrace(PTRACE_SEIZE, t->tid, NULL, (void *)(long)PTRACE_O_TRACESYSGOOD)) {
		t->why = errno;
		return errno == ESRCH ? STOP_GONE : STOP_REFUSED;
	}
	return inject_thread_interrupt(t, until_ns);
}

bool inject_thread_has_stopped(struct inject_thread *t)
{
	int status;

	if (waitpid(t->tid, &status, __WALL | WNOHANG) != t->tid)
		return false;
	t->stopped = WIFSTOPPED(status);
	if (t->stopped && step_pends(t))
		take_step(t, UINT64_MAX);
	return true;
}

bool inject_thread_may_step(const struct inject_thread *t)
{
	uint64_t mask;

	return ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof mask, &mask) == 0 && !(mask >> (SIGTRAP - 1) & 1);
}

enum inject_stop inject_thread_step(struct inject_thread *t, uint64_t until_ns)
{
	int signal = 0;

	for (;;) {
		resume(t, PTRACE_SINGLESTEP, signal);
		int status = wait_stop(t, until_ns);
		if (status < 0)
			return no_stop();
		signal = 0;
		if (EVENT(status) == PTRACE_EVENT_STOP)
			continue;
		siginfo_t info;
		if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info))
			return STOP_HERE;
		if (WSTOPSIG(status) == SIGTRAP && info.si_code > 0)
			return STOP_HERE;
		signal = WSTOPSIG(status);
	}
}

int inject_thread_read(struct inject_thread *t)
{
	return inject_regs_read(t->tid, &t->regs);
}

int inject_thread_borrow(struct inject_thread *t)
{
	uint64_t ours = ~CAUSED;

	if (ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof t->mask, &t->mask) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof ours, &ours))
		return -errno;
	t->masked = true;
	int rc = inject_regs_read(t->tid, &t->saved);
	t->changed = rc == 0;
	return rc;
}

/* Runs what the registers say until it returns to address 0. */
static enum inject_stop run(struct inject_thread *t, uint64_t until_ns)
{
	for (int pass = 0;;) {
		resume(t, PTRACE_CONT, pass);
		pass = 0;
		int status = wait_stop(t, until_ns);
		siginfo_t info;

		if (status < 0)
			return no_stop();
		if (EVENT(status) == PTRACE_EVENT_STOP)
			continue;
		int signal = WSTOPSIG(status);
		if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info))
			return STOP_GONE;
		if (info.si_code <= 0 || !(CAUSED >> (signal - 1) & 1)) { /* sent by somebody */
			if (signal == SIGSTOP) /* stops the others now, and this one when it is let go */
				pass = SIGSTOP;
			else
				t->pass = signal;
			continue;
		}
		if (inject_thread_read(t))
			return STOP_GONE;
		if (signal == SIGSEGV && inject_regs_pc(&t->regs) == 0)
			return STOP_HERE;
		t->signal = signal;
		return STOP_FAULT;
	}
}

enum inject_stop inject_thread_call(struct inject_thread *t, const struct inject_modules *m, uint64_t fn, uint64_t a, uint64_t b,
				    uint64_t top, uint64_t until_ns, uint64_t *result)
{
	uint64_t at, zero = 0;

	t->regs = t->saved;
	inject_regs_call(&t->regs, fn, a, b, top, &at);
	if ((at && inject_write(m, at, &zero, sizeof zero)) || inject_regs_write(t->tid, &t->regs))
		return STOP_GONE;
	enum inject_stop s = run(t, until_ns);
	if (s == STOP_HERE)
		*result = inject_regs_result(&t->regs);
	return s;
}

enum inject_stop inject_thread_syscall(struct inject_thread *t, uint64_t gadget, long nr, const uint64_t args[6],
				       uint64_t until_ns, long *result)
{
	t->regs = t->saved;
	inject_regs_set_syscall(&t->regs, gadget, nr, args);
	if (inject_regs_write(t->tid, &t->regs))
		return STOP_GONE;
	for (int stops = 0, pass = 0; stops < 2;) { /* its begin, its end */
		resume(t, PTRACE_SYSCALL, pass);
		pass = 0;
		int status = wait_stop(t, until_ns);
		if (status < 0)
			return no_stop();
		if (EVENT(status) == PTRACE_EVENT_STOP)
			continue;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			stops++;
		else if (WSTOPSIG(status) == SIGSTOP)
			pass = SIGSTOP;
		else
			t->pass = WSTOPSIG(status);
	}
	if (inject_thread_read(t))
		return STOP_GONE;
	*result = (long)inject_regs_result(&t->regs);
	return STOP_HERE;
}

int inject_thread_give_back(struct inject_thread *t)
{
	int rc = 0;

	if (t->changed)
		rc = inject_regs_write(t->tid, &t->saved);
	if (t->masked && ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof t->mask, &t->mask) && !rc)
		rc = -errno;
	t->changed = t->masked = false;
	return rc;
}

void inject_thread_release(struct inject_thread *t)
{
	if (t->stopped)
		ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)t->pass);
	t->stopped = false;
}
