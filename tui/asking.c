/* SPDX-License-Identifier: MIT
 *
 * asking.c - see asking.h.
 */
#include "app.h"

#define EVERY_NS 2000000000u
#define PART 20                      /* one in so many parts of the time is spent on it, at most; */
#define PART_UNASKED 100             /* of ages, which are shown beside all else: where that is not too seldom */
#define SELDOM_NS 30000000000u
#define PATIENCE_NS 10000000000u     /* the agent may be busy with another one's */
#define COHORTS_PATIENCE_NS 90000000000u /* ... and these are many on a slow link */

void asking_heard(struct asking *q, uint64_t answers)
{
	uint64_t now = now_ns();

	if (q->answers == answers)
		return;
	q->answers = answers;
	q->took_ns = q->asked_ns > q->answer_ns ? now - q->asked_ns : q->took_ns;
	q->answer_ns = now;
}

void asking_go_on(struct asking *q, struct app *a, enum mtw_kind kind, uint64_t answers)
{
	uint64_t now = now_ns(), patience = kind == MTW_KIND_COHORTS ? COHORTS_PATIENCE_NS : PATIENCE_NS;

	asking_heard(q, answers);
	bool waiting = q->asked_ns > q->answer_ns;
	uint64_t every = q->took_ns * PART;
	if (kind == MTW_KIND_COHORTS && every < SELDOM_NS)
		every = q->took_ns * PART_UNASKED < SELDOM_NS ? q->took_ns * PART_UNASKED : SELDOM_NS;
	every = every > EVERY_NS ? every : EVERY_NS;
	if (!watch_live(a->watch) || figures_over(&a->figures) || a->paused || a->figures.past)
		return;
	if ((!q->asked_ns || now - q->asked_ns > (waiting ? patience : every)) &&
	    !watch_scan(a->watch, kind, NULL, 0))
		q->asked_ns = now;
}

uint64_t asking_since(const struct asking *q)
{
	return q->answer_ns ? now_ns() - q->answer_ns : 0;
}

uint64_t asking_age(const struct asking *q, const struct app *a)
{
	uint64_t age = asking_since(q);

	return age > 2 * (uint64_t)EVERY_NS && !figures_over(&a->figures) ? age : 0;
}
