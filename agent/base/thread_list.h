/* SPDX-License-Identifier: MIT
 *
 * thread_list.h - the states of all threads, ended ones included: insert-only. record/thread.c
 * makes them. A state's counters are of one session (detach, attach: the next); sums go over those
 * of the present one.
 */
#ifndef MT_BASE_THREAD_LIST_H
#define MT_BASE_THREAD_LIST_H

#include "base/compiler.h"
#include "base/types.h"

#define SESSION_NONE UINT32_MAX

#pragma GCC visibility push(hidden)

extern struct thread *_Atomic mt_threads; /* the newest; NULL = none */
extern _Atomic uint32_t mt_thread_states; /* how many */
extern _Atomic uint32_t mt_session;       /* the present one, or the last */
/* the one that events count in; SESSION_NONE after a detach */
extern _Atomic uint32_t mt_counting;

void mt_threads_add(struct thread *t); /* any thread */
/* No gate is open then. Threads open theirs at their next event; any thread, also the server's. */
void mt_threads_close(void);

#pragma GCC visibility pop

/* From t on. */
MT_INLINE const struct thread *threads_of_session(const struct thread *t)
{
	uint32_t session = atomic_load_explicit(&mt_session, memory_order_relaxed);

	while (t && atomic_load_explicit(&t->xsession, memory_order_acquire) != session)
		t = t->next;
	return t;
}

MT_INLINE const struct thread *threads_first(void)
{
	return threads_of_session(atomic_load_explicit(&mt_threads, memory_order_acquire));
}

MT_INLINE const struct thread *threads_next(const struct thread *t)
{
	return threads_of_session(t->next);
}

/* Its event began before a detach: it counts nowhere. Asked within the guard: record/guard.h. */
MT_INLINE bool thread_is_late(const struct thread *t)
{
	return unlikely(atomic_load_explicit(&mt_counting, memory_order_relaxed) !=
			atomic_load_explicit(&t->xsession, memory_order_relaxed));
}

#endif
