/* SPDX-License-Identifier: MIT
 *
 * spawn.c - children that libc starts by itself: posix_spawn, and the shells of system(), popen()
 * and wordexp().
 *
 * posix_spawn() has the child's environment as a parameter: the child gets the same one as by an
 * exec (hooks/follow.c). A relative path changes its meaning where a file action changes the
 * child's folder; a program that cannot be found from here is left alone.
 *
 * The others start /bin/sh with `environ`. So during the call `environ` is a prepared copy, which
 * compare-and-swap puts back. Another thread that reads it meanwhile finds the known entries, and
 * the agent's behind them.
 *
 *   several threads are inside    the first one swaps, the last one puts it back
 *   setenv() and its like inside  change the program's own array: it is put back for the call, and
 *                                 swapped again afterwards
 *   a program with its own setenv, or that writes to `environ`
 *                                 has made its own array out of the copy: the agent's entries are
 *                                 removed from that; or has written to the copy: its changes go to
 *                                 the array that is put back
 *   fork() inside                 the child has no such call under way: it puts the array back at
 *                                 once (forked)
 *
 * A lock serialises all that: setenv() frees the array that another thread's system() would be
 * copying. A signal handler that interrupts the lock's holder goes without: its system() is then
 * not followed.
 *
 * A copy is never freed, because a thread may still walk over it. A program that changes its
 * environment between calls uses the next of COPIES, and after the last the oldest one again.
 */
#include "base/arena.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/types.h"
#include "hooks/follow.h"
#include "process/environ.h"
#include "hooks/init.h"
#include "hooks/reals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#if __has_include(<wordexp.h>)
#include <wordexp.h>
#define HAS_WORDEXP
#endif

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define COPIES 16u

struct copy {
	char **list;  /* NULL = none yet */
	size_t bytes; /* mapped */
};

static struct copy copies[COPIES];
static _Atomic uintptr_t xowner; /* pthread_self() of who has the lock; 0 = nobody */
/* Under the lock, but for a forked child, which has one thread. */
static unsigned next;
static unsigned inside;     /* calls under way */
static struct follow shell; /* what the first of them found */
static char **plain; /* what the copy was made of; freed, if the program has had a new one made */
static char *user;   /* the user's own LD_PRELOAD entry in it */

static void forked(void);

/* False: this thread has it already, and this is a signal handler. It is held for microseconds. */
static bool lock(void)
{
	uintptr_t self = (uintptr_t)pthread_self();
	const long a_while[2] = { 0, 20000 };

	hooks_in_child();
	atomic_store_explicit(&mt_init_in_child, forked, memory_order_relaxed);
	for (;;) {
		uintptr_t is = 0;
		if (atomic_compare_exchange_strong(&xowner, &is, self))
			return true;
		if (is == self)
			return false;
		if (!mt_state_filtered())
			mt_prim_call(SYS_nanosleep, (long)a_while, 0, 0, 0, 0, 0);
	}
}

static void unlock(void)
{
	atomic_store(&xowner, 0);
}

/* Before there is an agent, or without one, `environ` is never a copy. */
static bool lock_if_on(void)
{
	int state = atomic_load_explicit(&mt_state, memory_order_acquire);

	return state != AGENT_EARLY && state != AGENT_OFF && lock();
}

/* Declared without the system headers: Android's leave posix_spawn() out below API level 28. */
typedef int spawn_call(int *pid, const char *path, const void *actions, const void *attributes,
		       char *const *argv, char *const *envp);

static int spawn(spawn_call *real, enum lookup how, int *pid, const char *path, const void *actions,
		 const void *attributes, char *const *argv, char *const *envp)
{
	struct follow us;
	int own = 0, *told = pid ? pid : &own;

	hooks_in_child();
	if (!mt_follow_spawn(&us, how, path, !actions || path[0] == '/', argv, envp))
		return real(pid, path, actions, attributes, argv, envp);
	char **env = FOLLOW_ENV(&us, envp);
	int rc = real(told, path, actions, attributes, argv, env);
	if (mt_follow_too_long(&us, rc))
		rc = real(told, path, actions, attributes, argv, envp);
	return mt_follow_spawned(&us, rc, told);
}

MT_EXPORT int posix_spawn(int *pid, const char *path, const void *actions, const void *attributes,
			  char *const *argv, char *const *envp)
{
	hooks_found();
	if (!mt_reals.posix_spawn)
		return ENOSYS;
	return spawn(mt_reals.posix_spawn, LOOKUP_PATH, pid, path, actions, attributes, argv, envp);
}

MT_EXPORT int posix_spawnp(int *pid, const char *file, const void *actions, const void *attributes,
			   char *const *argv, char *const *envp)
{
	hooks_found();
	if (!mt_reals.posix_spawnp)
		return ENOSYS;
	return spawn(mt_reals.posix_spawnp, LOOKUP_SEARCH, pid, file, actions, attributes, argv,
		     envp);
}

/* Room for a copy; reuses one that has not been swapped in for COPIES turns. NULL: no memory. */
static char **room_for(size_t bytes)
{
	struct copy *c = &copies[next++ % COPIES];

	if (c->bytes >= bytes)
		return c->list;
	bytes = (bytes * 2 + 4095) & ~(size_t)4095;
	c->list = mt_arena_alloc(bytes);
	c->bytes = c->list ? bytes : 0;
	return c->list;
}

/* The agent's entries in a copy lie in its own room, behind the array. */
static bool is_ours(char *const *copy, size_t bytes, const char *entry)
{
	return (uintptr_t)entry >= (uintptr_t)copy && (uintptr_t)entry < (uintptr_t)copy + bytes;
}

static size_t bytes_of(char *const *copy)
{
	for (unsigned i = 0; i < COPIES; i++)
		if (copies[i].list == copy)
			return copies[i].bytes;
	return 0;
}

/* Is the entry one that came with us, in a copy of that many bytes? */
static bool came_with_us(char *const *copy, size_t bytes, const char *entry)
{
	if (is_ours(copy, bytes, entry))
		return true;
	for (unsigned i = 0; mt_state_saved(i); i++)
		if (mt_state_saved(i) == entry)
			return true;
	return false;
}

static char *user_preload(char *const *list)
{
	for (; list && *list; list++)
		if (!strncmp(*list, "LD_PRELOAD=", 11))
			return *list;
	return NULL;
}

/* Copies `from` without the agent's entries into `to`, which may be the same; the user's LD_PRELOAD
 * replaces the agent's. Writes only differences: `to` is mostly right already. */
static void take_out(char **to, char *const *from, char *const *copy)
{
	size_t bytes = bytes_of(copy);

	for (; *from; from++) {
		char *entry = *from;
		if (is_ours(copy, bytes, entry) && user && !strncmp(entry, "LD_PRELOAD=", 11))
			entry = user;
		else if (came_with_us(copy, bytes, entry))
			continue;
		if (*to != entry)
			*to = entry;
		to++;
	}
	if (*to)
		*to = NULL;
}

/* Keeps the program's changes to its environment while that was the copy. */
static void put_back(void)
{
	char **is = mt_follow_copy;

	if (!mt_follow_copy)
		return;
	if (__atomic_compare_exchange_n(&ENVIRON, &is, plain, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		take_out(plain, mt_follow_copy, mt_follow_copy);
	else if (is)
		take_out(is, is, mt_follow_copy);
	mt_follow_copy = NULL;
}

/* `mt_follow_copy` before `environ`: a child that another thread forks in between tries to remove
 * entries that are not there, and does nothing else. */
static void swap_in(void)
{
	char **is = plain = ENVIRON;
	size_t bytes = is ? mt_follow_bytes(&shell, is) : 0;
	char **copy = bytes ? room_for(bytes) : NULL;

	if (!copy || mt_follow_fill(&shell, is, copy) != copy)
		return;
	user = user_preload(is);
	mt_follow_copy = copy;
	if (!__atomic_compare_exchange_n(&ENVIRON, &is, copy, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		mt_follow_copy = NULL;
}

/* A call of its parent's that had `environ` replaced is none of a forked child's own. */
static void forked(void)
{
	put_back();
	inside = 0;
	unlock();
}

static bool enter(const char *command)
{
	if (!ENVIRON || !lock_if_on())
		return false;
	bool with = inside || mt_follow_shell(&shell, command);
	if (with && !inside++)
		swap_in();
	unlock();
	return with;
}

bool mt_environ_enter(const struct follow *f)
{
	if (!f->own || !(f->with || f->through) || !ENVIRON || !lock_if_on())
		return false;
	if (!inside++) {
		shell = *f;
		swap_in();
	}
	unlock();
	return true;
}

void mt_environ_leave(void *entered)
{
	int kept = errno;

	if (*(const bool *)entered && lock()) {
		if (!--inside)
			put_back();
		unlock();
	}
	errno = kept;
}

/* CALL, and then mt_environ_leave(): also when the thread is cancelled in it. Android's threads
 * cannot be. */
#ifdef __BIONIC__
#define INSIDE(entered, call)                                                                      \
	do {                                                                                       \
		call;                                                                              \
		mt_environ_leave(entered);                                                         \
	} while (0)
#else
#define INSIDE(entered, call)                                                                      \
	pthread_cleanup_push(mt_environ_leave, entered);                                           \
	call;                                                                                      \
	pthread_cleanup_pop(1)
#endif

static bool change_begins(void)
{
	hooks_found();
	bool locked = lock_if_on();
	if (locked)
		put_back();
	return locked;
}

static int change_ends(bool locked, int rc)
{
	if (locked) {
		if (inside)
			swap_in();
		unlock();
	}
	return rc;
}

/* Not there, as in no libc that has the others. */
static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

MT_EXPORT int setenv(const char *name, const char *value, int replace)
{
	bool locked = change_begins();

	return change_ends(locked,
			   mt_reals.setenv ? mt_reals.setenv(name, value, replace) : missing());
}

MT_EXPORT int unsetenv(const char *name)
{
	bool locked = change_begins();

	return change_ends(locked, mt_reals.unsetenv ? mt_reals.unsetenv(name) : missing());
}

MT_EXPORT int putenv(char *entry)
{
	bool locked = change_begins();

	return change_ends(locked, mt_reals.putenv ? mt_reals.putenv(entry) : missing());
}

MT_EXPORT int clearenv(void)
{
	bool locked = change_begins();

	return change_ends(locked, mt_reals.clearenv ? mt_reals.clearenv() : missing());
}

MT_EXPORT int system(const char *command)
{
	hooks_found();
	if (!mt_reals.system)
		return -1;
	bool entered = command && enter(command);
	int rc = -1;
	INSIDE(&entered, rc = mt_reals.system(command));
	return rc;
}

MT_EXPORT void *popen(const char *command, const char *mode)
{
	hooks_found();
	if (!mt_reals.popen)
		return NULL;
	bool entered = enter(command);
	void *f = NULL;
	INSIDE(&entered, f = mt_reals.popen(command, mode));
	return f;
}

#ifdef HAS_WORDEXP
MT_EXPORT int wordexp(const char *text, wordexp_t *words, int flags)
{
	hooks_found();
	if (!mt_reals.wordexp)
		return WRDE_NOSPACE;
	bool entered = !(flags & WRDE_NOCMD) && enter(text);
	int rc = WRDE_NOSPACE;
	INSIDE(&entered, rc = mt_reals.wordexp(text, words, flags));
	return rc;
}
#endif
