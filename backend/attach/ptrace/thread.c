/* SPDX-License-Identifier: MIT
 *
 * thread.c - ptrace on one thread (ptrace(2): SEIZE, so that nothing is sent to the process).
 *
 * Stops are of three kinds. memtop's own: PTRACE_EVENT_STOP after an interrupt, SIGTRAP|0x80 at
 * system calls. Group stops (a SIGSTOP from elsewhere), also EVENT_STOP: the thread is continued,
 * and the kernel puts it into its group's stop when memtop releases it. And signals for the
 * program.
 *
 * Signals: a fault that memtop causes while SIGSEGV is blocked would make the kernel reset its
 * handler for the whole process (force_sig). So while the thread is borrowed, signals that a fault
 * raises stay unblocked; all others are blocked and wait in the kernel with all they carry. At all
 * other times signals are delivered at once.
 */
#include "attach/ptrace/thread.h"
#include "attach/ptrace/stopped_process.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define CALL_STOPS 2 /* of a system call: its begin, its end */
#define EVENT(status) ((unsigned)(status) >> 16)
#define CAUSED                                                                                     \
	(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) |                     \
	 1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1))

/* Waits for the next stop of any kind: its status; -1 and errno: EINTR = not in time, ECHILD =
 * it is gone. */
static int wait_stop(struct inject_thread *t, uint64_t until_ns)
{
	int status;

	for (;;) {
		pid_t got = waitpid(t->tid, &status, __WALL | (until_ns ? 0 : WNOHANG));
		if (got == t->tid)
			break;
		if (got < 0 && errno != EINTR)
			return -1;
		if (now_ns() >= until_ns) {
			errno = EINTR;
			return -1;
		}
	}
	t->stopped = WIFSTOPPED(status);
	if (t->stopped && EVENT(status) != PTRACE_EVENT_EXEC)
		return status;
	/* another program by now: whichever of its threads this was */
	t->changed = t->masked = false;
	t->pass = 0;
	errno = inject_thread_release(t) ? ECHILD : EINTR;
	return -1;
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

/* Waits until it stops for the interrupt. Its own signals are delivered meanwhile. */
static enum inject_stop wait_interrupt(struct inject_thread *t, uint64_t until_ns)
{
	for (;;) {
		int status = wait_stop(t, until_ns);

		if (status < 0)
			return no_stop();
		if (EVENT(status) == PTRACE_EVENT_STOP) {
			t->group = WSTOPSIG(status) != SIGTRAP;
			return STOP_HERE;
		}
		resume(t, PTRACE_CONT, WSTOPSIG(status) & 0x80 ? 0 : WSTOPSIG(status));
	}
}

enum inject_stop inject_thread_interrupt(struct inject_thread *t, uint64_t until_ns)
{
	/* ESRCH: it ends, and the wait tells; the first thread's end is told after all others' */
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	return wait_interrupt(t, until_ns);
}

enum inject_stop inject_thread_stop(struct inject_thread *t, uint64_t until_ns)
{
	if (ptrace(PTRACE_SEIZE, t->tid, NULL,
		   (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC))) {
		t->why = errno;
		return errno == ESRCH ? STOP_GONE : STOP_REFUSED;
	}
	return inject_thread_interrupt(t, until_ns);
}

enum inject_stop inject_thread_look(struct inject_thread *t)
{
	return wait_interrupt(t, 0);
}

enum inject_stop inject_thread_run_on(struct inject_thread *t, uint64_t ns, uint64_t until_ns)
{
	struct timespec time = { 0, (long)ns };

	resume(t, PTRACE_CONT, 0);
	nanosleep(&time, NULL);
	return inject_thread_interrupt(t, until_ns);
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

enum inject_stop inject_thread_call(struct inject_thread *t, const struct inject_modules *m,
				    uint64_t fn, uint64_t a, uint64_t b, uint64_t top)
{
	uint64_t at, zero = 0;

	t->regs = t->saved;
	inject_regs_call(&t->regs, fn, a, b, top, &at);
	if ((at && inject_write(m, at, &zero, sizeof zero)) || inject_regs_write(t->tid, &t->regs))
		return STOP_GONE;
	t->call_stops = 0;
	resume(t, PTRACE_CONT, 0);
	return STOP_HERE;
}

enum inject_stop inject_thread_syscall(struct inject_thread *t, uint64_t gadget, long nr,
				       const uint64_t args[6])
{
	t->regs = t->saved;
	inject_regs_set_syscall(&t->regs, gadget, nr, args);
	if (inject_regs_write(t->tid, &t->regs))
		return STOP_GONE;
	t->call_stops = CALL_STOPS;
	resume(t, PTRACE_SYSCALL, 0);
	return STOP_HERE;
}

/* Handles a signal during the call. STOP_LATE: it was the program's, and the call continues;
 * else the call is over. An injected function ends with a fault: it returns to address 0. */
static enum inject_stop call_signal(struct inject_thread *t, int signal, int *pass)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info))
		return STOP_GONE;
	if (info.si_code <= 0 || !(CAUSED >> (signal - 1) & 1)) { /* sent by another process */
		if (signal == SIGSTOP) /* stops the others now, and this one when it is let go */
			*pass = SIGSTOP;
		else
			t->pass = signal;
		return STOP_LATE;
	}
	if (inject_thread_read(t))
		return STOP_GONE;
	if (signal == SIGSEGV && inject_regs_pc(&t->regs) == 0)
		return STOP_HERE;
	t->signal = signal;
	return STOP_FAULT;
}

enum inject_stop inject_thread_await(struct inject_thread *t, uint64_t until_ns, uint64_t *result)
{
	enum inject_stop s = STOP_LATE;

	while (s == STOP_LATE) {
		int status = wait_stop(t, until_ns), pass = 0;

		if (status < 0)
			return no_stop();
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && !EVENT(status))
			s = t->call_stops && !--t->call_stops
				    ? inject_thread_read(t) ? STOP_GONE : STOP_HERE
				    : STOP_LATE;
		else if (EVENT(status) != PTRACE_EVENT_STOP)
			s = call_signal(t, WSTOPSIG(status), &pass);
		if (s == STOP_LATE)
			resume(t, t->call_stops ? PTRACE_SYSCALL : PTRACE_CONT, pass);
	}
	*result = inject_regs_result(&t->regs);
	return s;
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

bool inject_thread_release(struct inject_thread *t)
{
	bool killed = t->stopped && ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)t->pass) &&
		      errno == ESRCH;

	t->stopped = false;
	return !killed;
}
