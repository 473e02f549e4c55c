/* SPDX-License-Identifier: MIT
 *
 * cost.c - times some of a thread's events.
 *
 * record/cost_sum.c makes the estimate of them. A clock cannot time it. An event takes some 3 ns,
 * in which the processor also works for the program, and reading a clock waits for both and takes
 * 20 ns. So the time of an event is
 *
 *     OVERLAP * base + WAITS * (mean of the timed ones - floor)
 *
 * base: the time of an event among thousands that do nothing else. floor: what the clock tells of
 * one of these. The server finds both once, with counters and an entry of its own. The difference
 * is what timed events of the program took more: for memory that was not in the cache, stacks that
 * had to be walked, pages that were touched first.
 *
 * TIMED are a few events in 2,048 of a thread. They leave the usual path because the thread closes
 * its own gates (struct hot), so that the usual path tests nothing, and a timed free begins before
 * it looks at the live map. The first of them find clock and code cold and are not counted. The
 * first events of each thread are expensive and stand for no other: each is timed, and so is the
 * set-up of the thread's state.
 *
 * A thread with few samples is judged by all threads' mean.
 *
 * ERROR. Twice the standard error of the means, and MODEL of all but the first events: how far the
 * base is from the truth in a program that does something else in between.
 */
#include "record/cost.h"
#include "base/compiler.h"
#include "base/self.h"
#include "record/slots_fast.h"

#include <string.h>

#define FIRST_MAX_NS 40000u /* of a thread's set-up and first events, in sum */
#define FIRST 16            /* events of a thread that are timed in any case */
#define EVERY 2048u
#define COLD 3 /* at least so many are not counted */
#define TIMED 3

void mt_cost_begin(struct thread *t)
{
	t->cost.due = FIRST + 1;
	t->cost.begins = true;
	t->cost.first_room_ns = FIRST_MAX_NS;
}

/* The clock goes on while the thread waits for another's page faults, and takes no cpu. So what
 * all of this takes has a limit. */
void mt_cost_set_up(struct thread *t, uint64_t ns)
{
	struct cost *c = &t->cost;

	ns = ns < c->first_room_ns ? ns : c->first_room_ns;
	c->first_room_ns -= ns;
	c->first_ns += ns;
}

bool mt_cost_due(struct thread *t, uint64_t events)
{
	struct cost *c = &t->cost;

	if (events - c->due_at < EVERY)
		return false;
	c->due_at = events;
	if (!c->due && t->hot) {
		c->dice = c->dice * 1103515245u + 12345u;
		c->due = COLD + (c->dice >> 16) % 4 + TIMED + 1;
		hot_close(t->hot);
	}
	return true;
}

void mt_cost_event(struct thread *t, uint64_t ns)
{
	if (t->cost.begins) {
		t->cost.first++;
		mt_cost_set_up(t, ns);
	} else if (t->cost.due <= TIMED) {
		cost_add(&t->cost.timed, ns);
	}
}

MT_FORK_CODE void mt_cost_forked(struct thread *t)
{
	struct cost now = { .due_at = t->cost.due_at, .dice = t->cost.dice };

	now.before = slots_events(t);
	now.left_before = filter_events(&t->filter);
	t->cost = now;
	memset(&t->filter.timed, 0, sizeof(t->filter.timed));
}
