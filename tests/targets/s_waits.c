/* SPDX-License-Identifier: MIT
 *
 * s_waits.c - forked children that do nothing but wait, each in one call, made once.
 * Usage: s_waits signal|data|time|busy|read. A line "NAME PID" for each child, then "NAME result"
 * as it ends:
 *   signal   for SIGUSR1, for ever or ten minutes: how the call came back, and what was left of its
 *            time
 *   data     for standard input to end
 *   time     2.3 s long: whether it took that long
 *   busy     one child that makes no call until its parent ends; read: one that reads standard
 *            input
 *   exec     one that waits as daemons do, then becomes s_exec (beside this program), which says
 *            whether it is watched
 */
#include "target.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONG_MS 600000

static sigset_t none, usr1;
static long left_ms;

static struct timespec span(long ms)
{
	return (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
}

static long ms_of(struct timespec t)
{
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int in_poll(long ms)
{
	struct pollfd in = { 0, POLLIN, 0 };
	int rc = poll(&in, 1, (int)ms);

	EXPECT(rc < 1 || in.revents & (POLLIN | POLLHUP));
	return rc;
}

static int in_ppoll(long ms)
{
	struct pollfd in = { 0, POLLIN, 0 };
	struct timespec t = span(ms);

	return ppoll(&in, 1, ms < 0 ? NULL : &t, &none);
}

static int epoll_of_stdin(void)
{
	struct epoll_event in = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	EXPECT(fd >= 0 && !epoll_ctl(fd, EPOLL_CTL_ADD, 0, &in));
	return fd;
}

static int in_epoll_wait(long ms)
{
	struct epoll_event out;

	return epoll_wait(epoll_of_stdin(), &out, 1, (int)ms);
}

static int in_epoll_pwait(long ms)
{
	struct epoll_event out;

	return epoll_pwait(epoll_of_stdin(), &out, 1, (int)ms, &none);
}

static int in_select(long ms)
{
	struct timeval t = { ms / 1000, ms % 1000 * 1000 };
	fd_set in;

	FD_ZERO(&in);
	FD_SET(0, &in);
	int rc = select(1, &in, NULL, NULL, ms < 0 ? NULL : &t);
	EXPECT(rc < 0 || !FD_ISSET(0, &in) == !rc);
	left_ms = t.tv_sec * 1000 + t.tv_usec / 1000;
	return rc;
}

/* More descriptors than its sets hold and there can be, as getdtablesize() says: the kernel does
 * not look there. */
static int in_wide_select(long ms)
{
	struct timeval t = { ms / 1000, ms % 1000 * 1000 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(two != MAP_FAILED && !mprotect(two + page, page, PROT_NONE));
	fd_set *in = (fd_set *)(two + page - sizeof(*in));
	FD_SET(0, in);
	return select(65536, in, NULL, NULL, &t);
}

static int in_pselect(long ms)
{
	struct timespec t = span(ms);
	fd_set in;

	FD_ZERO(&in);
	FD_SET(0, &in);
	return pselect(1, &in, NULL, NULL, ms < 0 ? NULL : &t, &none);
}

static int in_sleep(long ms)
{
	unsigned left = sleep((unsigned)((ms < 0 ? LONG_MS : ms + 999) / 1000));

	left_ms = left * 1000L;
	return left ? -1 : 0;
}

static int in_usleep(long ms)
{
	return usleep((useconds_t)(ms < 0 ? LONG_MS : ms) * 1000);
}

static int in_nanosleep(long ms)
{
	struct timespec t = span(ms < 0 ? LONG_MS : ms), left = { 0, 0 };
	int rc = nanosleep(&t, &left);

	left_ms = ms_of(left);
	return rc;
}

static int in_clock_nanosleep(long ms)
{
	struct timespec t = span(ms < 0 ? LONG_MS : ms), left = { 0, 0 };
	int rc = clock_nanosleep(CLOCK_REALTIME, 0, &t, &left);

	left_ms = ms_of(left);
	errno = rc;
	return rc ? -1 : 0;
}

static int in_clock_until(long ms)
{
	struct timespec now, t;

	clock_gettime(CLOCK_MONOTONIC, &now);
	t = span(ms_of(now) + 1 + (ms < 0 ? LONG_MS : ms));
	int rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	errno = rc;
	return rc ? -1 : 0;
}

static int in_pause(long ms)
{
	(void)ms;
	return pause();
}

static int in_sigsuspend(long ms)
{
	(void)ms;
	EXPECT(!sigprocmask(SIG_BLOCK, &usr1, NULL));
	return sigsuspend(&none);
}

static int in_sigwait(long ms)
{
	int sig = 0;

	(void)ms;
	EXPECT(!sigprocmask(SIG_BLOCK, &usr1, NULL));
	return sigwait(&usr1, &sig) ? -1 : sig;
}

static const struct {
	const char *name;
	int (*wait)(long ms);
	bool data, timed; /* comes back with data; has a time limit */
} kinds[] = {
	{ "poll", in_poll, true, true },
	{ "ppoll", in_ppoll, true, true },
	{ "epoll_wait", in_epoll_wait, true, true },
	{ "epoll_pwait", in_epoll_pwait, true, true },
	{ "select", in_select, true, true },
	{ "pselect", in_pselect, true, true },
	{ "sleep", in_sleep, false, true },
	{ "usleep", in_usleep, false, true },
	{ "nanosleep", in_nanosleep, false, true },
	{ "clock_nanosleep", in_clock_nanosleep, false, true },
	{ "clock_until", in_clock_until, false, true },
	{ "pause", in_pause, false, false },
	{ "sigsuspend", in_sigsuspend, false, false },
	{ "sigwait", in_sigwait, false, false },
};

static void on_usr1(int sig)
{
	(void)sig;
}

/* One write, nothing allocated: a child that allocates would wake up by itself. */
static void say(const char *name, const char *format, long a, const char *b, const char *c)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%s ", name);

	n += snprintf(line + n, sizeof(line) - (size_t)n, format, a, b, c);
	EXPECT(write(1, line, (size_t)n) == n);
}

static void child(const char *how, const char *name, int (*wait)(long))
{
	struct timespec begin, end;
	sigset_t now;
	bool timed = !strcmp(how, "time");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	say(name, "%ld%s%s\n", getpid(), "", "");
	errno = 0;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	int rc = wait(timed                                               ? 2300
		      : !strcmp(how, "signal") && !strcmp(name, "select") ? LONG_MS
									  : -1);
	int why = errno;
	clock_gettime(CLOCK_MONOTONIC, &end);
	EXPECT(!sigprocmask(SIG_SETMASK, NULL, &now) && !sigismember(&now, SIGTERM));
	say(name, "%ld %s %s\n", rc,
	    why == EINTR ? "EINTR"
	    : why        ? "?"
			 : "0",
	    timed                       ? (ms_of(end) - ms_of(begin) >= 2299 ? "long" : "short")
	    : left_ms > LONG_MS - 60000 ? "left"
					: "none");
	_exit(0);
}

static int in_loop(long ms)
{
	(void)ms;
	for (;;)
		__asm__ volatile("");
}

static int in_read(long ms)
{
	char byte;

	(void)ms;
	return (int)read(0, &byte, 1);
}

/* A daemon's wait: what it executes is told where the parent was. */
static int in_exec(long ms)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);

	(void)ms;
	EXPECT(n > 0);
	path[n] = '\0';
	memcpy(strrchr(path, '/'), "/s_exec", sizeof("/s_exec"));
	sleep(3);
	execl(path, path, "seen", NULL);
	return -1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct sigaction act = { .sa_handler = on_usr1 };

	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigaction(SIGUSR1, &act, NULL);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((!strcmp(how, "signal") || (!strcmp(how, "data") && kinds[i].data) ||
		     (!strcmp(how, "time") && kinds[i].timed)) &&
		    fork() == 0)
			child(how, kinds[i].name, kinds[i].wait);
	if (!strcmp(how, "time") && fork() == 0)
		child(how, "wide_select", in_wide_select);
	if (!strcmp(how, "busy") && fork() == 0)
		child(how, how, in_loop);
	if (!strcmp(how, "read") && fork() == 0)
		child(how, how, in_read);
	if (!strcmp(how, "exec") && fork() == 0)
		child(how, how, in_exec);
	while (wait(NULL) > 0)
		;
	return 0;
}
