/* SPDX-License-Identifier: MIT
 *
 * wait.c - the calls in which a process waits for something to happen.
 *
 * A forked child wakes and becomes a session as its hooks run (hooks/init.c). A daemon or an idle
 * worker may never allocate again once it is set up, but it does wait. So a dormant process checks
 * whether to wake before each wait. All others pay one compare, as in malloc. A jump enters the
 * real call, with the caller's frame gone, so cancellation, signals and errno are entirely the real
 * call's.
 *
 * A wait that would outlast the dormant time is split in two, with a check between the parts.
 * Signals are held from before the first part until after the last, and only each part's mask lets
 * them in, so no signal can be lost between the parts. Timed sleeps are such waits without a
 * descriptor. These calls never restart after a handler, so EINTR is passed on. Calls that may
 * restart, or that a descriptor's flags may keep from waiting (read, accept), cannot be split: a
 * child inside one of them at two seconds stays dormant until it returns. So does a child that
 * waits for a lock, a condition or a semaphore: libc waits for those by itself, on memory, and
 * calls no hook.
 */
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/self.h"
#include "base/state.h"
#include "base/types.h"
#include "hooks/caller.h"
#include "hooks/init.h"
#include "hooks/reals.h"
#include "process/reap.h"
#include "record/thread.h"

#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define SECOND 1000000000ull
#define MILLI 1000000ull

/* The longest time for which it stays dormant, in ns; 0 = it is not dormant, or stays so until its
 * end. */
MT_COLD static uint64_t look(void)
{
	int kept = errno;
	uint64_t left = mt_init_waits();

	errno = kept;
	return mt_reals.wrapped ? 0 : left;
}

static struct timespec span(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
}

/* UINT64_MAX: without end, or too long to matter, or invalid (the real call reports that). */
static uint64_t duration(const struct timespec *t)
{
	return t && t->tv_sec >= 0 && t->tv_sec < INT32_MAX
		       ? (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec
		       : UINT64_MAX;
}

static bool valid(const struct timespec *t)
{
	return !t || (t->tv_sec >= 0 && (unsigned long)t->tv_nsec < SECOND);
}

/* What is left of ns, from `begin` on. */
static uint64_t rest_of(uint64_t ns, uint64_t begin)
{
	uint64_t gone = mt_prim_now_ns() - begin;

	return ns == UINT64_MAX ? ns : ns > gone ? ns - gone : 0;
}

static sigset_t hold_signals(void)
{
	uint64_t all = ~0ull;
	sigset_t was;

	memset(&was, 0, sizeof(was));
	mt_prim_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&was, sizeof(all), 0, 0);
	return was;
}

static void let_signals(const sigset_t *was)
{
	mt_prim_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)was, 0, sizeof(uint64_t), 0, 0);
}

static int poll_parts(uint64_t left, struct pollfd *fds, nfds_t n, uint64_t ns, const sigset_t *m)
{
	sigset_t was = hold_signals();
	struct timespec part = span(left < ns ? left : ns), rest;
	uint64_t begin = mt_prim_now_ns();
	int rc = mt_reals.ppoll(fds, n, &part, m ? m : &was);

	if (!rc && ns > left) {
		look();
		rest = span(rest_of(ns, begin));
		rc = mt_reals.ppoll(fds, n, ns == UINT64_MAX ? NULL : &rest, m ? m : &was);
	}
	let_signals(&was);
	return rc;
}

static uint64_t of_ms(int ms)
{
	return ms < 0 ? UINT64_MAX : (uint64_t)ms * MILLI;
}

static int poll_long(uint64_t left, struct pollfd *fds, nfds_t n, int ms)
{
	return of_ms(ms) <= left ? mt_reals.poll(fds, n, ms)
				 : poll_parts(left, fds, n, of_ms(ms), NULL);
}

static int ppoll_long(uint64_t left, struct pollfd *fds, nfds_t n, const struct timespec *t,
		      const sigset_t *m)
{
	if (!valid(t) || duration(t) <= left)
		return mt_reals.ppoll(fds, n, t, m);
	return poll_parts(left, fds, n, duration(t), m);
}

static int epoll_pwait_long(uint64_t left, int fd, struct epoll_event *e, int n, int ms,
			    const sigset_t *m)
{
	if (of_ms(ms) <= left)
		return mt_reals.epoll_pwait(fd, e, n, ms, m);
	sigset_t was = hold_signals();
	uint64_t begin = mt_prim_now_ns();
	int rc = mt_reals.epoll_pwait(fd, e, n, (int)(left / MILLI), m ? m : &was);
	if (!rc) {
		look();
		uint64_t rest = rest_of(of_ms(ms), begin);
		rc = mt_reals.epoll_pwait(fd, e, n, ms < 0 ? -1 : (int)((rest + MILLI - 1) / MILLI),
					  m ? m : &was);
	}
	let_signals(&was);
	return rc;
}

static int epoll_wait_long(uint64_t left, int fd, struct epoll_event *e, int n, int ms)
{
	return of_ms(ms) <= left ? mt_reals.epoll_wait(fd, e, n, ms)
				 : epoll_pwait_long(left, fd, e, n, ms, NULL);
}

/* A set is emptied when the time is up, so each part has its own. Where more descriptors are named
 * than an fd_set holds, only the kernel knows where the sets end (it looks no further than
 * descriptors go), so such a call is not split. */
static void copy_sets(size_t bytes, fd_set *const to[3], fd_set *const from[3])
{
	for (int i = 0; i < 3; i++)
		if (from[i])
			memcpy(to[i], from[i], bytes);
}

static int select_parts(uint64_t left, int n, fd_set *const set[3], uint64_t ns, const sigset_t *m)
{
	size_t bytes = ((size_t)n + 63) / 64 * 8;
	char *room = alloca(3 * bytes);
	fd_set *const kept[3] = { (fd_set *)room, (fd_set *)(room + bytes),
				  (fd_set *)(room + 2 * bytes) };
	sigset_t was = hold_signals();
	struct timespec part = span(left), rest;
	uint64_t begin = mt_prim_now_ns();

	copy_sets(bytes, kept, set);
	int rc = mt_reals.pselect(n, set[0], set[1], set[2], &part, m ? m : &was);
	if (!rc) {
		look();
		for (int i = 0; i < 3; i++)
			if (set[i])
				memcpy(set[i], kept[i], bytes);
		rest = span(rest_of(ns, begin));
		rc = mt_reals.pselect(n, set[0], set[1], set[2], ns == UINT64_MAX ? NULL : &rest,
				      m ? m : &was);
	}
	let_signals(&was);
	return rc;
}

static int pselect_long(uint64_t left, int n, fd_set *r, fd_set *w, fd_set *e,
			const struct timespec *t, const sigset_t *m)
{
	if (!valid(t) || duration(t) <= left || n < 0 || n > FD_SETSIZE)
		return mt_reals.pselect(n, r, w, e, t, m);
	return select_parts(left, n, (fd_set *const[]){ r, w, e }, duration(t), m);
}

/* It also says how much of its time was left. */
static int select_long(uint64_t left, int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t)
{
	struct timespec total = { 0, 0 };
	uint64_t begin = mt_prim_now_ns();

	if (t && (t->tv_sec < 0 || (unsigned long)t->tv_usec >= 1000000))
		return mt_reals.select(n, r, w, e, t);
	if (t)
		total = (struct timespec){ t->tv_sec, t->tv_usec * 1000 };
	uint64_t ns = duration(t ? &total : NULL);
	if (ns <= left || n < 0 || n > FD_SETSIZE)
		return mt_reals.select(n, r, w, e, t);
	int rc = select_parts(left, n, (fd_set *const[]){ r, w, e }, ns, NULL);
	if (t && ns != UINT64_MAX) {
		struct timespec rest = span(rc ? rest_of(ns, begin) : 0);
		*t = (struct timeval){ rest.tv_sec, rest.tv_nsec / 1000 };
	}
	return rc;
}

/* 0, or EINTR with the rest of the time; ns > left. A sleep ends on time, but ppoll may be late by
 * up to a 200th and 100 ms (the kernel's slack), so it gets that much less as long as it matters.
 */
static int sleep_parts(uint64_t left, uint64_t ns, struct timespec *rest)
{
	sigset_t was = hold_signals();
	struct timespec part = span(left);
	uint64_t begin = mt_prim_now_ns(), todo;
	int kept = errno, rc = mt_reals.ppoll(NULL, 0, &part, &was);

	if (!rc)
		look();
	while (!rc && (todo = rest_of(ns, begin))) {
		uint64_t late = todo / 200 < 100 * MILLI ? todo / 200 : 100 * MILLI;
		part = span(late > MILLI / 20 ? todo - late : todo);
		rc = mt_reals.ppoll(NULL, 0, &part, &was);
	}
	let_signals(&was);
	errno = kept;
	if (rc && rest)
		*rest = span(rest_of(ns, begin));
	return rc ? EINTR : 0;
}

static unsigned sleep_long(uint64_t left, unsigned seconds)
{
	struct timespec rest;

	if (seconds * SECOND <= left)
		return mt_reals.sleep(seconds);
	if (!sleep_parts(left, seconds * SECOND, &rest))
		return 0;
	errno = EINTR;
	return (unsigned)rest.tv_sec;
}

static int usleep_long(uint64_t left, useconds_t us)
{
	uint64_t ns = (uint64_t)us * 1000;

	if (ns <= left)
		return mt_reals.usleep(us);
	if (!sleep_parts(left, ns, NULL))
		return 0;
	errno = EINTR;
	return -1;
}

static int nanosleep_long(uint64_t left, const struct timespec *t, struct timespec *rest)
{
	if (!t || !valid(t) || duration(t) <= left || duration(t) == UINT64_MAX)
		return mt_reals.nanosleep(t, rest);
	if (!sleep_parts(left, duration(t), rest))
		return 0;
	errno = EINTR;
	return -1;
}

static int clock_nanosleep_long(uint64_t left, clockid_t c, int flags, const struct timespec *t,
				struct timespec *rest)
{
	bool until = flags & TIMER_ABSTIME;
	uint64_t ns = t && valid(t) ? duration(t) : 0, now = mt_prim_now_ns();

	if (until)
		ns = ns == UINT64_MAX || ns > now ? rest_of(ns, 0) : 0;
	if (ns <= left || ns == UINT64_MAX ||
	    (c != CLOCK_MONOTONIC && (until || c != CLOCK_REALTIME)))
		return mt_reals.clock_nanosleep(c, flags, t, rest);
	return sleep_parts(left, ns, until ? NULL : rest);
}

static int sigsuspend_long(uint64_t left, const sigset_t *mask)
{
	return poll_parts(left, NULL, 0, UINT64_MAX, mask);
}

/* Its signals are blocked by contract, so that they wait between the parts. */
static int sigwait_long(uint64_t left, const sigset_t *mask, int *sig)
{
	int kept = errno;

	for (; left && mt_reals.sigtimedwait; left = look()) {
		struct timespec part = span(left);
		siginfo_t info;
		int got = mt_reals.sigtimedwait(mask, &info, &part);
		if (got > 0) {
			*sig = got;
			return 0;
		}
		if (errno != EAGAIN && errno != EINTR)
			break;
		errno = kept;
	}
	errno = kept;
	return mt_reals.sigwait(mask, sig);
}

/* Dormant, or forked past the hooks and not yet aware of it. */
MT_COLD static bool closed(void)
{
	hooks_found();
	return atomic_load_explicit(&mt_state, memory_order_relaxed) == AGENT_DORMANT ||
	       mt_thread_forked();
}

/* An open gate says that all is looked up, and that this is no dormant process. */
MT_INLINE bool dormant(void)
{
	const struct hot *hot = mt_self_hot();

	return unlikely(!hot->open && !hot->sampled) && closed();
}

#define UNWRAP(...) __VA_ARGS__
#define DEFINE_TIMED(linked, weak, name, result, parameters, arguments)                            \
	JUMPS MT_EXPORT result name parameters                                                     \
	{                                                                                          \
		uint64_t left = dormant() ? look() : 0;                                            \
		if (unlikely(left))                                                                \
			return name##_long(left, UNWRAP arguments);                                \
		return mt_reals.name arguments;                                                    \
	}
TIMED_NAMES(DEFINE_TIMED)

JUMPS MT_EXPORT int pause(void)
{
	uint64_t left = dormant() ? look() : 0;

	return unlikely(left) ? poll_parts(left, NULL, 0, UINT64_MAX, NULL) : mt_reals.pause();
}

#define DEFINE_UNTIMED(linked, weak, name, result, parameters, arguments)                          \
	JUMPS MT_EXPORT result name parameters                                                     \
	{                                                                                          \
		if (dormant())                                                                     \
			look();                                                                    \
		return mt_reals.name arguments;                                                    \
	}
UNTIMED_NAMES(DEFINE_UNTIMED)

void mt_wait_wakes(void)
{
	if (dormant())
		look();
}
