/* SPDX-License-Identifier: MIT
 *
 * detach.c - the agent is taken out of a target that runs on: what MTW_DETACH asks for.
 *
 * Only an agent that was attached can go: one that was there from the start is what the loader bound everything
 * to. Every viewer gets the last counters, as at the end of a target, with a state that says why; then
 * sockets and server go. The code stays mapped, for a thread may still be inside of a hook; what the
 * session needed in memory is given back to the system, its addresses are kept for the next one.
 */
#include "server/start.h"

#define LEAVE_PATIENCE_NS (3 * SECOND)

void leave_ask(struct server *s, struct viewer *v)
{
	if (!mt_attach_is()) {
		viewer_error(s, v, MTW_E_DETACH,
			     "this agent was loaded when the program started; it cannot be taken out");
		return;
	}
	if (s->leaving || s->over)
		return;
	s->leaving = true;
	s->leave_until_ns = serve_now() + LEAVE_PATIENCE_NS;
	s->next_tick_ns = 0;
}

bool leave_check(struct server *s)
{
	char text[NOTICE_MAX];
	uint32_t left, changed;

	if (atomic_load(&s->shared->xleave) && !s->leaving) {
		s->leaving = true;
		s->leave_until_ns = UINT64_MAX;
	}
	if (!s->leaving)
		return false;
	/* An attach that failed half way has put nothing in place. */
	bool nothing = atomic_load(&s->shared->xleave) && atomic_load(&mt_state) == AGENT_OFF;
	if (!mt_attach_undo(&left, &changed) && !nothing) {
		if (serve_now() > s->leave_until_ns) {
			s->leaving = false;
			command_notice(s, -1, -1, "the agent was not taken out: a library is just being loaded or "
						  "unloaded; try again");
		}
		return false;
	}
	if (left) {
		mt_format(text, sizeof(text), "%u places could not be written: they stay with the agent, which passes "
					      "calls on", left);
		command_notice(s, -1, -1, text);
	}
	if (changed) {
		mt_format(text, sizeof(text), "slots that somebody else changed since the attach, and that are left as "
					      "they are: %u", changed);
		command_notice(s, -1, -1, text);
	}
	s->state = MTW_DETACHED;
	s->state_status = 0;
	s->state_known = 1;
	s->state_ns = serve_now();
	s->state_serial++;
	return true;
}

static void drop_mapping(void *arg, enum part part, uintptr_t start, uintptr_t end)
{
	const struct server *s = arg;
	uintptr_t needed[] = { (uintptr_t)s, (uintptr_t)__builtin_frame_address(0),
			       (uintptr_t)__builtin_thread_pointer() };
	size_t page = mt_prim_page_bytes();

	(void)part;
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (needed[i] >= start && needed[i] < end)
			return;
	/* The first page has the list of mappings, which the next session unmaps. */
	if (end - start > page)
		mt_prim_drop((void *)(start + page), end - start - page);
}

void leave_memory(struct server *s)
{
	mt_live_restart();
	serve_each_mapping(drop_mapping, s);
}
