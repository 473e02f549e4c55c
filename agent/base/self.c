/* SPDX-License-Identifier: MIT
 *
 * self.c - when a thread has ended and another one may take over its state: see base/self.h.
 *
 * A destructor of a thread-specific value would run too early: others run after it, and libc frees
 * more after those. So each thread locks a robust mutex in its state and never unlocks it. The
 * kernel marks the mutex when the thread is really gone, and no code runs in the target. The next
 * thread that needs a state takes it by locking (EOWNERDEAD). Where robust mutexes have no effect
 * (qemu-user), states are not reused.
 *
 * bionic has no robust mutexes. There a destructor releases the state in its last round; in earlier
 * rounds it sets the value again, so that it is called once more. Blocks that later destructors
 * allocate or free belong to another state, which no thread inherits. libc's own per-thread blocks
 * do not come from malloc.
 */
#include "base/self.h"
#include "base/msg.h"

#include <errno.h>

struct hot mt_self_nobody;

#ifdef __BIONIC__
pthread_key_t mt_self_key;

static void end(void *value)
{
	struct thread *t = value;

	if (++t->ends < PTHREAD_DESTRUCTOR_ITERATIONS)
		mt_self_become(t);
	else
		atomic_store_explicit(&t->xleft, true, memory_order_release);
}

bool mt_self_init(void)
{
	if (!pthread_key_create(&mt_self_key, end))
		return true;
	mt_msg("no key for thread-specific data is free; running unprofiled");
	return false;
}

void mt_self_own(struct thread *t)
{
	t->ends = 0;
}

bool mt_self_inherit(struct thread *t)
{
	bool left = true;

	if (!atomic_compare_exchange_strong_explicit(&t->xleft, &left, false, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	mt_self_own(t);
	return true;
}
#else
MT_TLS struct self mt_self_tls = { .hot = &mt_self_nobody };

bool mt_self_init(void)
{
	return true;
}

void mt_self_own(struct thread *t)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&t->alive, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_mutex_trylock(&t->alive);
}

bool mt_self_inherit(struct thread *t)
{
	if (pthread_mutex_trylock(&t->alive) != EOWNERDEAD)
		return false;
	pthread_mutex_consistent(&t->alive);
	return true;
}
#endif
