/* SPDX-License-Identifier: MIT
 *
 * gate.c - the slow entry: a thread's first event, the agent's first, a forked child's, and events
 * while nothing is recorded.
 */
#include "hooks/gate.h"
#include "base/state.h"
#include "record/thread.h"

struct thread *mt_gate_slow(void)
{
	int state = atomic_load_explicit(&mt_state, memory_order_acquire);

	if (state == AGENT_OFF || (state == AGENT_EARLY && !mt_init_early()))
		return NULL;
	if (mt_thread_quiet())
		return NULL;
	if (unlikely(mt_thread_forked()))
		mt_init_forked();
	struct thread *t = mt_thread_of_session();
	state = atomic_load_explicit(&mt_state, memory_order_acquire);
	if (state == AGENT_DORMANT)
		mt_init_dormant();
	else if (state == AGENT_ON && t->hot)
		t->hot->open = t;
	/* A detach closes gates after it has changed the state: one that was opened too late is
	 * seen here. */
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(&mt_state, memory_order_relaxed) == AGENT_OFF)) {
		if (t->hot)
			t->hot->open = NULL;
		return NULL;
	}
	return t;
}
