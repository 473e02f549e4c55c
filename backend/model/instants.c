/* SPDX-License-Identifier: MIT
 *
 * instants.c - at which instants the session is known whole, and of when each answer to a scan is.
 *
 * An instant is its tick: two may say the same time (the answer to a scan is followed by a tick of
 * its own, with the counters of before). The first is the instant, for the answer is younger than
 * what the counters say; the last of the session is the exception, which has all. So a place in the
 * session is the count of ticks up to it, which is the same for whoever reads the same frames.
 */
#include "model/instants.h"

#include <stdlib.h>

/* then every second one goes: 1 MiB, an hour and 49 minutes of ticks */
#define INSTANTS_MAX (1u << 16)

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

/* An answer is of the time that it says, else of the last tick before it. */
void instants_looked(struct instants *x, enum mtw_kind kind, uint64_t time_ns, uint64_t tick_ns)
{
	x->looked_ns[kind] = time_ns ? time_ns : tick_ns ? tick_ns : 1;
	x->answers[kind]++;
}
