/* SPDX-License-Identifier: MIT
 *
 * steps.c - limits the steps of an answer, by count or by the clock.
 */
#include "query/internal.h"

#define STEPS_FIRST 1000u /* of a slice that begins late */
#define STEPS_A_LOOK 64u  /* at the clock */

void query_allow(struct query *q, size_t steps)
{
	if (!q->unfinished)
		q->steps = 0;
	q->allowed = steps;
	if (steps == SIZE_MAX)
		owners_in_slices(q->o, false);
	q->end_ns = 0;
	q->unfinished = false;
}

void query_allow_until(struct query *q, uint64_t end_ns)
{
	query_allow(q, STEPS_FIRST);
	q->end_ns = end_ns;
}

bool steps_more(struct query *q)
{
	if (q->end_ns && now_ns() < q->end_ns)
		q->allowed = STEPS_A_LOOK;
	return q->allowed;
}
