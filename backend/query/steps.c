/* SPDX-License-Identifier: MIT
 *
 * steps.c - limits the steps of an answer, by count or by the clock.
 */
#include "query/steps.h"

#define STEPS_FIRST                                                                                \
	20000u /* of any slice, some 2 ms: a busy machine lets most of them begin late */
#define NAMES_EVERY_NS 1000000000ull
#define STEPS_A_LOOK 64u /* at the clock */

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

bool steps_wait_for_names(const struct query *q, uint64_t looked_ns)
{
	uint64_t done, asked;

	if (q->allowed == SIZE_MAX || now_ns() - looked_ns >= NAMES_EVERY_NS)
		return false;
	symbols_progress(q->s, &done, &asked);
	return done < asked; /* they are looked at when these come */
}
