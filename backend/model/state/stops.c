/* SPDX-License-Identifier: MIT
 *
 * stops.c - when the program could not run, as the agent measured it, and the clock without these
 * times. Rates, growth and verdicts count by that clock: a program that stood still for a minute
 * did not slow down.
 */
#include "model/state/stops.h"

#include <string.h>

/* The stopped part of [begin, to): several joined stops are spread evenly over their time. */
static uint64_t stopped_until(const struct stop *p, uint64_t to)
{
	uint64_t end = p->end_ns < to ? p->end_ns : to;

	if (end <= p->begin_ns)
		return 0;
	if (p->end_ns == UINT64_MAX || end == p->end_ns)
		return p->end_ns == UINT64_MAX ? end - p->begin_ns : p->stopped_ns;
	return (uint64_t)((double)p->stopped_ns * (double)(end - p->begin_ns) /
			  (double)(p->end_ns - p->begin_ns));
}

uint64_t stops_running(const struct stops *x, uint64_t ns)
{
	uint64_t stopped = 0;

	for (size_t i = 0; i < x->count && x->list[i].begin_ns < ns; i++)
		stopped += stopped_until(&x->list[i], ns);
	return ns - (stopped < ns ? stopped : ns);
}

const struct stop *stops_open(const struct stops *x)
{
	const struct stop *p = x->count ? &x->list[x->count - 1] : NULL;

	return p && p->end_ns == UINT64_MAX ? p : NULL;
}

struct stops stops_up_to(const struct stops *x, uint64_t ns)
{
	struct stops then = *x;

	while (then.count && then.list[then.count - 1].begin_ns >= ns)
		then.count--;
	if (then.count && then.list[then.count - 1].end_ns > ns)
		then.list[then.count - 1].end_ns = UINT64_MAX;
	if (then.slept_at_ns > ns)
		then.slept_ns = then.slept_at_ns = 0;
	return then;
}
