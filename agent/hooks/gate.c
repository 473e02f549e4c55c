/* SPDX-License-Identifier: MIT
 *
 * gate.c - the slow entry: a thread's first event, the agent's first, a forked child's, and events
 * while nothing is recorded.
 */
#include "hooks/gate.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/thread_list.h"
#include "record/cost.h"
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

/* To make one takes time, and that is the agent's. */
static struct thread *state_of_thread(void)
{
	if (likely(mt_self()))
		return mt_thread_of_session();
	uint64_t begin = mt_prim_now_ns();
	struct thread *t = mt_thread_of_session();
	if (!t->shared)
		mt_cost_set_up(t, mt_prim_now_ns() - begin);
	return t;
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
	struct thread *t = state_of_thread();
	bool passes = cost_passes(t);
	state = atomic_load_explicit(&mt_state, memory_order_acquire);
	if (state == AGENT_DORMANT)
		mt_init_dormant();
	else if (state == AGENT_ON && t->hot && !passes)
		open_gate(t);
	/* A detach closes gates after it has changed the state: one that was opened too late is
	 * seen here, also in the next session. */
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(&mt_state, memory_order_relaxed) == AGENT_OFF ||
		     thread_is_late(t))) {
		if (t->hot)
			hot_close(t->hot);
		return NULL;
	}
	return t;
}
