/* SPDX-License-Identifier: MIT
 *
 * gate.h - the first step of a hook: finds the thread's state, and decides whether the event
 * counts.
 */
#ifndef MT_HOOKS_GATE_H
#define MT_HOOKS_GATE_H

#include "base/compiler.h"
#include "base/self.h"
#include "base/types.h"
#include "hooks/init.h"

#pragma GCC visibility push(hidden)

struct thread *mt_gate_slow(void); /* both gates are closed: the state that counts, NULL = none */

/* The calling thread's state, or NULL when the event does not count. */
MT_INLINE struct thread *mt_gate_enter(void)
{
	const struct hot *hot = mt_self_hot();
	struct thread *t = hot->open;

	if (unlikely(!t))
		t = hot->sampled;
	return likely(t) ? t : mt_gate_slow();
}

/* Behind the test of the gate: its state, and a value, in registers that are filled only here. A
 * path that has left before then saves no register for them. Where it takes a call to find the
 * gate, they had to survive that. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define gate_state(open) mt_self()
#define gate_copy(value)                                                                           \
	({                                                                                         \
		__typeof__(value) copy_ = (value);                                                 \
		__asm__("" : "+r"(copy_));                                                         \
		copy_;                                                                             \
	})
#else
#define gate_state(open) (open)
#define gate_copy(value) (value)
#endif

#pragma GCC visibility pop

#endif
