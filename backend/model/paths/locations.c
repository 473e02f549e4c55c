/* SPDX-License-Identifier: MIT
 *
 * locations.c - the code locations that nodes point to, numbered in the order of arrival.
 *
 * A million nodes have some thousand locations. So a node keeps a number, and the facts about a
 * location (its names, whether it is a wrapper) are kept once, by that number: symbols/symbols.h,
 * owners/names.h.
 */
#include "model/paths/locations.h"

#include <stdlib.h>

static uint64_t hash_place(uint32_t module, uint64_t offset, uint8_t kind)
{
	return hash_mix(offset ^ (uint64_t)module << 34 ^ (uint64_t)kind << 62);
}

uint32_t locations_find(const struct locations *l, uint32_t module, uint64_t offset, uint8_t kind)
{
	uint32_t i = map_get(&l->by_hash, hash_place(module, offset, kind), NO_ID);

	for (; i != NO_ID; i = l->next[i])
		if (l->list[i].module == module && l->list[i].offset == offset &&
		    l->list[i].kind == kind)
			break;
	return i;
}

uint32_t locations_enter(struct locations *l, struct quota *q, uint32_t module, uint64_t offset,
			 uint8_t kind, struct err *err)
{
	uint32_t found = locations_find(l, module, offset, kind);
	uint64_t hash = hash_place(module, offset, kind);

	if (found != NO_ID)
		return found;
	if (quota_take(q, sizeof *l->list + sizeof *l->next + 2 * sizeof *l->by_hash.cells, err))
		return NO_ID;
	GROW(l->list, l->room, l->count + 1);
	GROW(l->next, l->next_room, l->count + 1);
	l->list[l->count] = (struct location){ offset, module, kind };
	l->next[l->count] = map_get(&l->by_hash, hash, NO_ID);
	map_set(&l->by_hash, hash, (uint32_t)l->count);
	return (uint32_t)l->count++;
}

void locations_clear(struct locations *l)
{
	map_release(&l->by_hash);
	free(l->list);
	free(l->next);
	*l = (struct locations){ 0 };
}

const struct location *locations_at(const struct locations *l, uint32_t number)
{
	static const struct location nowhere = { .module = NO_ID };

	return number < l->count ? &l->list[number] : &nowhere;
}
