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
#include "model/history/instants.h"

#include <stdlib.h>

void instants_clear(struct instants *x)
{
	free(x->list);
	x->list = NULL;
	x->count = x->room = 0;
	x->ticks_read = 0;
	for (int k = 0; k < MTW_KIND_COUNT; k++)
		x->looked_ns[k] = x->answers[k] = 0;
}

static void thin(struct instants *x)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->count; i += 2)
		x->list[kept++] = x->list[i];
	x->count = kept;
}

void instants_tick(struct instants *x, uint64_t time_ns, uint32_t flags)
{
	x->ticks_read++;
	if (!(flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return;
	bool again = x->count && x->list[x->count - 1].time_ns == time_ns;
	if (again && !(flags & MTW_TICK_FINAL))
		return;
	if (!again && x->count == INSTANTS_MAX)
		thin(x);
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
