/* SPDX-License-Identifier: MIT
 *
 * wait_reals.h - the calls in which a process waits, and the functions behind their hooks.
 */
#ifndef MT_HOOKS_WAIT_REALS_H
#define MT_HOOKS_WAIT_REALS_H

#include "hooks/init.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* name, result, parameters, arguments: split in two parts when they wait long. */
#define TIMED(X)                                                                                   \
	X(poll, int, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))                        \
	X(ppoll, int,                                                                              \
	  (struct pollfd * fds, nfds_t n, const struct timespec *t, const sigset_t *m),            \
	  (fds, n, t, m))                                                                          \
	X(epoll_wait, int, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms))         \
	X(epoll_pwait, int, (int fd, struct epoll_event *e, int n, int ms, const sigset_t *m),     \
	  (fd, e, n, ms, m))                                                                       \
	X(select, int, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t),                \
	  (n, r, w, e, t))                                                                         \
	X(pselect, int,                                                                            \
	  (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *m),   \
	  (n, r, w, e, t, m))                                                                      \
	X(sleep, unsigned, (unsigned seconds), (seconds))                                          \
	X(usleep, int, (useconds_t us), (us))                                                      \
	X(nanosleep, int, (const struct timespec *t, struct timespec *rest), (t, rest))            \
	X(clock_nanosleep, int,                                                                    \
	  (clockid_t c, int f, const struct timespec *t, struct timespec *rest), (c, f, t, rest))  \
	X(sigsuspend, int, (const sigset_t *mask), (mask))                                         \
	X(sigwait, int, (const sigset_t *mask, int *sig), (mask, sig))

/* ... only checked before the call. sys/socket.h would make accept's address a union. */
#define UNTIMED(X)                                                                                 \
	X(accept, int, (int fd, void *addr, unsigned *len), (fd, addr, len))                       \
	X(accept4, int, (int fd, void *addr, unsigned *len, int flags), (fd, addr, len, flags))    \
	X(read, ssize_t, (int fd, void *to, size_t n), (fd, to, n))                                \
	X(recv, ssize_t, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))              \
	X(recvfrom, ssize_t, (int fd, void *to, size_t n, int flags, void *addr, unsigned *len),   \
	  (fd, to, n, flags, addr, len))                                                           \
	X(recvmsg, ssize_t, (int fd, void *msg, int flags), (fd, msg, flags))

/* ... for a child: process/reap.c. */
#define REAPING(X)                                                                                 \
	X(wait, pid_t, (int *status), (status))                                                    \
	X(waitpid, pid_t, (pid_t pid, int *status, int flags), (pid, status, flags))               \
	X(wait3, pid_t, (int *status, int flags, void *usage), (status, flags, usage))             \
	X(wait4, pid_t, (pid_t pid, int *status, int flags, void *usage),                          \
	  (pid, status, flags, usage))                                                             \
	X(waitid, int, (int type, unsigned id, void *info, int flags), (type, id, info, flags))

/* Without arguments it needs a hook of its own below. */
#define PAUSE(X) X(pause, int, (void), ())

#define DECLARE(name, result, parameters, arguments) result(*name) parameters;
struct wait_reals {
	_Atomic bool xfound; /* all were looked for */
	bool wrapped; /* some are not the C library's: no wait is split, for that calls another */
	TIMED(DECLARE)
	PAUSE(DECLARE)
	UNTIMED(DECLARE)
	REAPING(DECLARE)
	int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
};
#undef DECLARE

extern struct wait_reals mt_wait;

void mt_hooks_wait_init(void); /* once, from init */

#pragma GCC visibility pop

#endif
