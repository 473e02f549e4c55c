/* SPDX-License-Identifier: MIT
 *
 * tracer.c - the process that traces, and its result. The kernel releases its tracees when it ends,
 * whatever happens to memtop; it may also outlive memtop, for threads that do not get to run.
 */
#include "attach/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <memtop/syscalls.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_US 5000 /* how often a wait looks at the clock */

static void tick(int signum)
{
	(void)signum;
}

static void send_result(void *arg, const struct inject_result *r)
{
	int fd = *(int *)arg;

	if (fd < 0)
		return;
	if (write(fd, r, sizeof *r) < 0)
		errno = 0; /* memtop has ended: the process must still be restored */
	close(fd);
	*(int *)arg = -1;
}

/*
 * Detaches the process, which may outlive memtop by far: a reader of memtop's output must not wait
 * for it. In its own session it does not end with memtop's process group, nor is it among the first
 * victims when memory runs out.
 */
static void stand_apart(int *report)
{
	*report = fcntl(*report, F_DUPFD_CLOEXEC, 3);
	int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		dup2(none, fd);
	if (*report > 3)
		syscall(SYS_close_range, 3, *report - 1, 0);
	syscall(SYS_close_range, *report + 1, ~0u, 0);
	setsid();
	prctl(PR_SET_NAME, INJECT_NAME);
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0) {
		if (write(score, "-1000", 5) < 0)
			errno = 0; /* only root may */
		close(score);
	}
}

/* Runs in the tracing process: no signal of a terminal may end it half way. */
static void trace(const struct inject_job *job, int fd)
{
	struct sigaction sa = { .sa_handler = tick };
	struct itimerval often = { { 0, TICK_US }, { 0, TICK_US } };
	struct inject_result r;
	sigset_t mask;

	sigfillset(&mask);
	sigdelset(&mask, SIGALRM);
	sigaction(SIGALRM, &sa, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	stand_apart(&fd);
	inject_agent(job, &r, send_result, &fd);
	send_result(&fd, &r);
	_exit(0);
}

int attach_trace(const struct inject_job *job, struct inject_result *r, struct err *err)
{
	int report[2];
	ssize_t n;

	if (pipe2(report, O_CLOEXEC))
		return err_set(err, 3, "attach: no pipe: %s; close other programs and try again",
			       strerror(errno));
	pid_t pid = fork();
	if (pid == 0)
		trace(job, report[1]);
	int why = errno;
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		return err_set(err, 3,
			       "attach: cannot start a helper process: %s; close other programs "
			       "and try again",
			       strerror(why));
	}
	while ((n = read(report[0], r, sizeof *r)) < 0 && errno == EINTR)
		;
	close(report[0]);
	if (n != (ssize_t)sizeof *r)
		return err_set(err, 3,
			       "%s: the helper that loads the agent ended early; check that the "
			       "process still runs",
			       job->name);
	/* it may still wait for threads that do not get to run */
	waitpid(pid, NULL, r->rc || r->lingers ? WNOHANG : 0);
	return 0;
}
