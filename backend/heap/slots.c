/* SPDX-License-Identifier: MIT */
#include "heap/slots.h"
#include "heap/room.h"

#include <stdlib.h>

struct slots *slots_new(uint32_t count)
{
	struct slots *s = xcalloc(1, sizeof *s);

	atomic_init(&s->users, 1);
	s->count = count;
	s->stack = room_large(count + 1ul, sizeof *s->stack);
	s->epoch = room_large(count + 1ul, sizeof *s->epoch);
	return s;
}

struct slots *slots_hold(struct slots *s)
{
	users_hold(&s->users);
	return s;
}

void slots_drop(struct slots *s)
{
	if (!s || !users_drop(&s->users))
		return;
	idmap_release(&s->ids);
	free(s->stack);
	free(s->epoch);
	free(s);
}

uint32_t *slots_ids(const struct slots *s)
{
	uint32_t *list = xcalloc(s->count + 1ul, sizeof *list);

	for (uint32_t id = 0; id < s->ids.end; id++) {
		uint32_t arrival = slots_find(s, id);

		if (arrival != NO_ID)
			list[arrival] = id;
	}
	return list;
}
