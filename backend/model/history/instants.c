/* SPDX-License-Identifier: MIT
 *
 * instants.c - the instants at which the session is complete, and the instant of each scan's
 * answer.
 *
 * An instant is its tick, since two ticks may have the same time: after a scan's answer comes a
 * tick of its own, with the counters from before. The first of the two is the instant, because the
 * answer is younger than the counters; at the session's end it is the last, which has everything.
 * So a place in the session is the count of ticks up to it, the same for every reader of the same
 * frames.
 */
#include "model/history/history.h"

#include "base/ages.h"

#include <stdlib.h>

#define LEFT_MAX (INSTANTS_MAX / 4 * 3) /* after they were thinned */
#define TIMES_MAX (1u << 20)            /* of a peer whose clock is no clock */

void instants_clear(struct instants *x)
{
	free(x->list);
	x->list = NULL;
	x->count = x->room = 0;
	x->ticks_read = 0;
	for (int k = 0; k < MTW_KIND_COUNT; k++)
		x->looked_ns[k] = x->answers[k] = 0;
}

bool instants_full(const struct instants *x)
{
	return x->count == INSTANTS_MAX;
}

/* Cells of the rule that are so many times as long. */
static void pass(struct instants *x, const uint64_t *pins, size_t n, uint64_t times)
{
	uint64_t now = x->list[x->count - 1].time_ns;
	size_t kept = 1, pin = 0;

	for (size_t i = 1; i < x->count; i++) {
		uint64_t t = x->list[i].time_ns;
		bool last = i + 1 == x->count;
		while (pin < n && pins[pin] < t)
			pin++;
		if (last || (pin < n && pins[pin] < x->list[i + 1].time_ns) ||
		    ages_keep(now - t, x->list[kept - 1].time_ns, t, times))
			x->list[kept++] = x->list[i];
	}
	x->count = kept;
}

/* All of them may be at marks. */
static void halve(struct instants *x)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->count; i++)
		if (i % 2 == 0 || i + 1 == x->count)
			x->list[kept++] = x->list[i];
	x->count = kept;
}

void instants_thin(struct instants *x, const uint64_t *pins, size_t n)
{
	pass(x, pins, n, 1);
	for (uint64_t times = 2; x->count > LEFT_MAX && times <= TIMES_MAX; times *= 2)
		pass(x, pins, n, times);
	if (x->count > LEFT_MAX)
		halve(x);
}

void instants_tick(struct instants *x, uint64_t time_ns, uint32_t flags)
{
	x->ticks_read++;
	if (!(flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return;
	bool again = x->count && x->list[x->count - 1].time_ns == time_ns;
	if (again && !(flags & MTW_TICK_FINAL))
		return;
	GROW(x->list, x->room, x->count + 1);
	x->count += !again;
	x->list[x->count - 1] = (struct instant){ time_ns, x->ticks_read };
}

/* An answer belongs to its stated time, else to the last tick before it. */
void instants_looked(struct instants *x, enum mtw_kind kind, uint64_t time_ns, uint64_t tick_ns)
{
	x->looked_ns[kind] = time_ns ? time_ns : tick_ns ? tick_ns : 1;
	x->answers[kind]++;
}

void instants_keep(struct instants *x, const uint64_t *ticks, size_t n)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < x->count; i++) {
		while (at < n && ticks[at] < x->list[i].ticks)
			at++;
		if (at == n || ticks[at] == x->list[i].ticks)
			x->list[kept++] = x->list[i];
	}
	x->count = kept;
}
