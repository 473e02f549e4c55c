/* SPDX-License-Identifier: MIT
 *
 * thread_list.c - the list of thread states, for sums over all threads.
 */
#include "base/thread_list.h"
#include "base/self.h"

struct thread *_Atomic mt_threads;
_Atomic uint32_t mt_thread_states;
_Atomic uint32_t mt_session, mt_counting;

void mt_threads_add(struct thread *t)
{
	t->next = atomic_load_explicit(&mt_threads, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&mt_threads, &t->next, t,
						      memory_order_release, memory_order_relaxed))
		;
	atomic_fetch_add_explicit(&mt_thread_states, 1, memory_order_relaxed);
}

void mt_threads_close(void)
{
	struct thread *t = atomic_load_explicit(&mt_threads, memory_order_acquire);

	for (; t; t = t->next)
		if (t->hot)
			hot_close(t->hot);
}
