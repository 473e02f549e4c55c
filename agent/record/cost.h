/* SPDX-License-Identifier: MIT
 *
 * cost.h - the time that the agent takes inside the program's calls: an estimate, and its error.
 */
#ifndef MT_RECORD_COST_H
#define MT_RECORD_COST_H

#include "base/compiler.h"
#include "base/types.h"
#include "record/filter.h"

#define TIMED_MAX_NS 20000u /* above it, the thread lost its cpu meanwhile */

struct cost_sum {
	uint64_t ns, error_ns;
};

#pragma GCC visibility push(hidden)
/* On the thread: its first events come, the first one after `ns` of set-up. */
void mt_cost_begin(struct thread *t);
void mt_cost_set_up(struct thread *t, uint64_t ns); /* which took so long */
/* ... it has counted so many events: are some due to be timed? At most once in 2,048. */
bool mt_cost_due(struct thread *t, uint64_t events);
void mt_cost_event(struct thread *t, uint64_t ns); /* one that cost_is_timed() took so long */
/* In a forked child: what its parent's threads did is not its own. */
void mt_cost_forked(struct thread *t);
/* For the server. Once, before cost_sum(): what an event takes in a thread that does nothing else.
 */
void mt_cost_calibrate(void);
void mt_cost_sum(struct cost_sum *sum);
#pragma GCC visibility pop

/* The clock goes on while the thread waits for its cpu. One such time among some thousand events of
 * 3 ns would be half of their mean. */
MT_INLINE void cost_add(struct timed *to, uint64_t ns)
{
	if (ns > TIMED_MAX_NS)
		return;
	to->samples++;
	to->ns += ns;
	to->squares += ns * ns;
}

/* Both gates are closed: one of the events that leave the usual path has come. True: they go on. */
MT_INLINE bool cost_passes(struct thread *t)
{
	if (likely(!t->cost.due))
		return false;
	if (--t->cost.due)
		return true;
	t->cost.begins = false;
	return false;
}

/* The next event is such a one, and interrupts no other. A filter has times of its own. */
MT_INLINE bool cost_is_timed(const struct thread *t)
{
	return unlikely(t->cost.due) && !t->busy_sp && !filter_is_on();
}

#endif
