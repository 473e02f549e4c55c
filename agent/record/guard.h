/* SPDX-License-Identifier: MIT
 *
 * guard.h - the guard that is set while a thread is inside the agent. record/record.c has its
 * purpose.
 */
#ifndef MT_RECORD_GUARD_H
#define MT_RECORD_GUARD_H

#include "base/compiler.h"
#include "base/thread_list.h"
#include "base/types.h"
#include "record/thread.h"

#pragma GCC visibility push(hidden)
/* The guard is set: did this event interrupt the one that set it? False: the guard was left behind.
 */
bool mt_record_nested(const struct thread *t, uintptr_t sp);
#pragma GCC visibility pop

MT_INLINE bool busy_is_over(uintptr_t busy_sp)
{
	return busy_sp == BUSY_OVER || busy_sp == BUSY_OVERRUN;
}

/* The state to count in: t itself, or the shared one when the event interrupted another of t. NULL:
 * t's session is over, and the event came late. */
MT_INLINE struct thread *guard_in(struct thread *t, uintptr_t sp)
{
	if (unlikely(t->busy_sp && (t->shared || mt_record_nested(t, sp))))
		return busy_is_over(t->busy_sp) || thread_is_late(t) ? NULL : mt_thread_shared();
	t->busy_sp = sp;
	atomic_signal_fence(memory_order_seq_cst);
	if (thread_is_late(t)) {
		t->busy_sp = 0;
		return NULL;
	}
	return t;
}

MT_INLINE void guard_out(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (likely(!t->shared))
		t->busy_sp = 0;
}

#endif
