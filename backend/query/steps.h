/* SPDX-License-Identifier: MIT
 *
 * steps.h - the steps that an answer may take (query_allow()), by count or by the clock.
 */
#ifndef QUERY_STEPS_H
#define QUERY_STEPS_H

#include "query/state.h"

/* A walk from the root to a stack, and back. */
#define FOLLOW_STEPS 24u

bool steps_more(struct query *q); /* for take_step() */
/* One of the steps that query_allow() gave; false = none is left. */
static inline bool take_step(struct query *q)
{
	if (!q->allowed && !steps_more(q)) {
		q->unfinished = true;
		return false;
	}
	q->allowed -= q->allowed != SIZE_MAX;
	q->steps++;
	return true;
}

/* Charges further steps. */
static inline void spend_steps(struct query *q, size_t steps)
{
	if (q->allowed != SIZE_MAX)
		q->allowed -= q->allowed < steps ? q->allowed : steps;
	q->steps += steps;
}

/* Can names that arrived since then wait for more, to be taken in together? */
bool steps_wait_for_names(const struct query *q, uint64_t looked_ns);

#endif
