/* SPDX-License-Identifier: MIT
 *
 * instants.c - at which instants the session is known whole, and of when each answer to a scan is.
 *
 * An instant is its tick: two may say the same time (the answer to a scan is followed by a tick of
 * its own, with the counters of before). The first is the instant, for the answer is younger than
 * what the counters say; the last of the session is the exception, which has all. So a place in the
 * session is the count of ticks up to it, which is the same for whoever reads the same frames.
 */
#include "model/internal.h"

#include <stdlib.h>

/* then every second one goes: 1 MiB, an hour and 49 minutes of ticks */
#define INSTANTS_MAX (1u << 16)

void instants_clear(struct model *m)
{
	free(m->instants);
	m->instants = NULL;
	m->instant_count = m->instant_room = 0;
	m->ticks_read = 0;
	for (int k = 0; k < MTW_KIND_COUNT; k++)
		m->looked_ns[k] = m->answers[k] = 0;
}

static void thin(struct model *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->instant_count; i += 2)
		m->instants[kept++] = m->instants[i];
	m->instant_count = kept;
}

void instants_tick(struct model *m, uint64_t time_ns, uint32_t flags)
{
	m->ticks_read++;
	if (!(flags & (MTW_TICK_COMPLETE | MTW_TICK_FINAL)))
		return;
	bool again = m->instant_count && m->instants[m->instant_count - 1].time_ns == time_ns;
	if (again && !(flags & MTW_TICK_FINAL))
		return;
	if (!again && m->instant_count == INSTANTS_MAX)
		thin(m);
	GROW(m->instants, m->instant_room, m->instant_count + 1);
	m->instant_count += !again;
	m->instants[m->instant_count - 1] = (struct instant){ time_ns, m->ticks_read };
}

size_t model_instants(const struct model *m, const struct instant **list)
{
	*list = m->instants;
	return m->instant_count;
}

size_t model_instant_at(const struct model *m, uint64_t time_ns)
{
	/* 0 - 1 = SIZE_MAX */
	return count_up_to(m->instants, m->instant_count, sizeof *m->instants, time_ns) - 1;
}

uint64_t model_ticks_read(const struct model *m)
{
	return m->ticks_read;
}

/* An answer is of the time that it says, else of the last tick before it. */
void instants_looked(struct model *m, enum mtw_kind kind, uint64_t time_ns)
{
	m->looked_ns[kind] = time_ns ? time_ns : m->time_ns ? m->time_ns : 1;
	m->answers[kind]++;
}

uint64_t model_answers(const struct model *m, enum mtw_kind kind)
{
	return m->answers[kind];
}

uint64_t model_looked(const struct model *m, enum mtw_kind kind)
{
	return m->looked_ns[kind];
}
