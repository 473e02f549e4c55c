/* SPDX-License-Identifier: MIT
 *
 * gate.c - the slow entry: a thread's first event, the agent's first, a forked child's, and events
 * while nothing is recorded.
 */
#include "hooks/gate.h"
#include "base/state.h"
#include "record/filter.h"
#include "record/thread.h"

/* For its next events, by the filter in force. The server may switch that at the same time, and
 * then closes all gates (mt_filter_update()). Both write mt_filter_on: if this comes first, the
 * server sees the gate and closes it; else this sees the switch. */
static void open_gate(struct thread *t)
{
	uint32_t on = atomic_load(&mt_filter_on);

	if (filter_only_samples(on)) {
		mt_filter_renew(&t->filter, on);
		t->hot->sampled = t;
	} else {
		t->hot->open = t;
	}
	if (unlikely(atomic_fetch_add(&mt_filter_on, 0) != on))
		hot_close(t->hot);
}

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
		open_gate(t);
	/* A detach closes gates after it has changed the state: one that was opened too late is
	 * seen here. */
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(&mt_state, memory_order_relaxed) == AGENT_OFF)) {
		if (t->hot)
			hot_close(t->hot);
		return NULL;
	}
	return t;
}
