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

struct thread *mt_gate_slow(void); /* the gate is closed: the state that counts, NULL = none */

/* The calling thread's state, or NULL when the event does not count. */
MT_INLINE struct thread *mt_gate_enter(void)
{
	struct thread *t = mt_self_hot()->open;

	return likely(t) ? t : mt_gate_slow();
}

#pragma GCC visibility pop

#endif
