/* SPDX-License-Identifier: MIT
 *
 * hooks_wait.c - the calls in which a process waits for something to happen.
 *
 * A forked child wakes up and becomes a session as its hooks pass by (init.c). A daemon may never
 * allocate again once it is set up, but it does wait; so a dormant process takes a look before it
 * does. Nothing else happens here: the real call is entered by a jump, with the caller's frame
 * gone, so that cancellation, signals and errno are entirely its own. All others pay a load and a
 * compare. What is missed: a child that waits for ever before its parent has ended.
 */
#include "hooks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* name, result, parameters, arguments. sys/socket.h would make accept's address a union. */
#define WAITS(X)                                                                                   \
	X(poll, int, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))                        \
	X(ppoll, int, (struct pollfd * fds, nfds_t n, const struct timespec *t, const sigset_t *m), \
	  (fds, n, t, m))                                                                          \
	X(epoll_wait, int, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms))         \
	X(epoll_pwait, int, (int fd, struct epoll_event *e, int n, int ms, const sigset_t *m),     \
	  (fd, e, n, ms, m))                                                                       \
	X(select, int, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t), (n, r, w, e, t)) \
	X(accept, int, (int fd, void *addr, unsigned *len), (fd, addr, len))                       \
	X(accept4, int, (int fd, void *addr, unsigned *len, int flags), (fd, addr, len, flags))    \
	X(sleep, unsigned, (unsigned seconds), (seconds))                                          \
	X(nanosleep, int, (const struct timespec *t, struct timespec *left), (t, left))            \
	X(clock_nanosleep, int, (clockid_t c, int f, const struct timespec *t, struct timespec *left), \
	  (c, f, t, left))                                                                         \
	X(pause, int, (void), ())                                                                  \
	X(sigsuspend, int, (const sigset_t *mask), (mask))                                         \
	X(sigwait, int, (const sigset_t *mask, int *sig), (mask, sig))

#define DECLARE(name, result, parameters, arguments) static result(*real_##name) parameters;
WAITS(DECLARE)
static _Atomic bool xfound;

void mt_hooks_wait_init(void)
{
#define FIND(name, result, parameters, arguments)                                                  \
	real_##name = (result(*) parameters)mt_real_next(#name);
	WAITS(FIND)
	atomic_store_explicit(&xfound, true, memory_order_release);
}

/* Before our start, as in hooks_proc.c. */
MT_COLD static void find(void)
{
	int kept = errno;

	if (atomic_load(&mt_state) == AGENT_EARLY)
		mt_init_early();
	if (!atomic_load_explicit(&xfound, memory_order_acquire))
		mt_hooks_wait_init();
	errno = kept;
}

MT_COLD static void look(void)
{
	int kept = errno;

	mt_init_waits();
	errno = kept;
}

#define DEFINE(name, result, parameters, arguments)                                                \
	JUMPS MT_EXPORT result name parameters                                                     \
	{                                                                                          \
		if (unlikely(!atomic_load_explicit(&xfound, memory_order_acquire)))                \
			find();                                                                    \
		if (unlikely(atomic_load_explicit(&mt_state, memory_order_relaxed) == AGENT_DORMANT)) \
			look();                                                                    \
		return real_##name arguments;                                                      \
	}
WAITS(DEFINE)
