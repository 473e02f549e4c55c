/* SPDX-License-Identifier: MIT
 *
 * detach.c - removes the agent from a target that runs on, on MTW_DETACH.
 *
 * Only an attached agent can go: the loader bound everything to one that was there from the start.
 * Every viewer gets the last counters, as at the end of a target, with a state that gives the
 * reason; then sockets and server go. The code stays mapped, because a thread may still be inside a
 * hook. The session's memory goes back to the system; its addresses are kept for the next session.
 */
#include "server/detach.h"
#include "base/arena.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "server/service.h"
#include "collect/viewer.h"
#include "live/session.h"
#include "modules/hook_list.h"
#include "modules/rebind.h"
#include "record/thread.h"
#include "server/dlclose_wait.h"

#include <memtop/wire.h>

#define LEAVE_PATIENCE_NS (3 * SECOND)
#define UNLOAD_PATIENCE_NS SECOND
#define STARVED_PATIENCE_NS (60 * SECOND)

void detach_ask(struct server *s, struct viewer *v)
{
	if (!mt_state_attached()) {
		viewer_error(
			s, v, MTW_E_DETACH,
			"this agent was loaded when the program started; it cannot be taken out");
		return;
	}
	if (s->service->leaving.asked || s->over)
		return;
	s->service->leaving.asked = true;
	s->service->leaving.until_ns = server_now() + LEAVE_PATIENCE_NS;
	s->service->next_tick_ns = 0;
}

/* False: not now, a library is being loaded or unloaded. */
static bool take_hooks_out(struct rebound *done)
{
	if (atomic_load(&mt_state) != AGENT_ON || !mt_dlclose_hold(UNLOAD_PATIENCE_NS))
		return false;
	atomic_store(&mt_state, AGENT_OFF);
	mt_thread_retire_all(STARVED_PATIENCE_NS);
	*done = mt_rebind_out(mt_hooks.hook, mt_hooks.count);
	mt_dlclose_release();
	return true;
}

bool detach_check(struct server *s)
{
	char text[NOTICE_MAX];
	struct rebound done = { .slots = 0 };

	if (atomic_load(&s->shared->xleave) && !s->service->leaving.asked) {
		s->service->leaving.asked = true;
		s->service->leaving.until_ns = UINT64_MAX;
	}
	if (!s->service->leaving.asked)
		return false;
	/* An attach that failed half way has put nothing in place. */
	bool nothing = atomic_load(&s->shared->xleave) && atomic_load(&mt_state) == AGENT_OFF;
	if (!take_hooks_out(&done) && !nothing) {
		if (server_now() > s->service->leaving.until_ns) {
			s->service->leaving.asked = false;
			viewers_notice(&s->notices, -1, -1,
				       "the agent was not taken out: a library is just being "
				       "loaded or unloaded; try again");
		}
		return false;
	}
	if (!nothing)
		mt_msg_keep(MTW_SAID_DETACHED);
	if (done.refused) {
		mt_format(text, sizeof(text),
			  "%u places could not be written: they stay with the agent, which passes "
			  "calls on",
			  done.refused);
		viewers_notice(&s->notices, -1, -1, text);
	}
	if (done.changed) {
		mt_format(text, sizeof(text),
			  "slots that somebody else changed since the attach, and that are left as "
			  "they are: %u",
			  done.changed);
		viewers_notice(&s->notices, -1, -1, text);
	}
	s->state.what = MTW_DETACHED;
	s->state.status = 0;
	s->state.known = 1;
	s->state.ns = server_now();
	s->state.serial++;
	return true;
}

static void drop_mapping(void *arg, enum part part, uintptr_t start, uintptr_t end)
{
	const struct server *s = arg;
	uintptr_t needed[] = { (uintptr_t)s, (uintptr_t)__builtin_frame_address(0),
			       (uintptr_t)mt_thread_pointer() };
	size_t page = mt_prim_page_bytes();

	(void)part;
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (needed[i] >= start && needed[i] < end)
			return;
	/* The first page has the list of mappings, which the next session unmaps. */
	if (end - start > page)
		mt_prim_drop((void *)(start + page), end - start - page);
}

void detach_memory(struct server *s)
{
	mt_live_restart();
	memory_each(drop_mapping, s);
}
