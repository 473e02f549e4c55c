/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

void map_release(struct map *m)
{
	free(m->cells);
	*m = (struct map){ 0 };
}

void map_clear(struct map *m)
{
	if (m->room)
		memset(m->cells, 0, m->room * sizeof *m->cells);
	m->count = 0;
}

static struct map_cell *find(const struct map *m, uint64_t key)
{
	size_t i = hash_mix(key) & (m->room - 1);

	while (m->cells[i].used && m->cells[i].key != key)
		i = (i + 1) & (m->room - 1);
	return &m->cells[i];
}

uint32_t map_get(const struct map *m, uint64_t key, uint32_t otherwise)
{
	if (!m->room)
		return otherwise;
	const struct map_cell *c = find(m, key);

	return c->used ? c->value : otherwise;
}

void map_set(struct map *m, uint64_t key, uint32_t value)
{
	if (m->count * 4 >= m->room * 3) {
		struct map old = *m;
		m->room = old.room ? old.room * 2 : 64;
		m->cells = xcalloc(m->room, sizeof *m->cells);
		for (size_t i = 0; i < old.room; i++)
			if (old.cells[i].used)
				*find(m, old.cells[i].key) = old.cells[i];
		free(old.cells);
	}
	struct map_cell *c = find(m, key);

	m->count += !c->used;
	*c = (struct map_cell){ key, value, true };
}
