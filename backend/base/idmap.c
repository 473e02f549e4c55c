/* SPDX-License-Identifier: MIT */
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

void idmap_release(struct idmap *m)
{
	for (size_t i = 0; i < m->room; i++)
		if (!idmap_is_run(m->top[i]))
			free((void *)(uintptr_t)m->top[i]);
	free(m->top);
	*m = (struct idmap){ 0 };
}

void idmap_copy(struct idmap *to, const struct idmap *from)
{
	*to = *from;
	to->top = xmalloc((to->room + 1) * sizeof *to->top);
	for (size_t i = 0; i < to->room; i++) {
		to->top[i] = from->top[i];
		if (!to->top[i] || idmap_is_run(to->top[i]))
			continue;
		uint32_t *leaf = xmalloc(IDMAP_LEAF * sizeof *leaf);
		memcpy(leaf, (const void *)(uintptr_t)from->top[i], IDMAP_LEAF * sizeof *leaf);
		to->top[i] = (uintptr_t)leaf;
	}
}

/* The smaller one is added to the other. */
void idmap_move(struct idmap *to, struct idmap *from)
{
	if (to->bytes < from->bytes) {
		struct idmap less = *to;
		*to = *from;
		*from = less;
	}
	for (size_t i = 0; i < from->room; i++)
		for (uint32_t k = 0; from->top[i] && k < IDMAP_LEAF; k++) {
			uint32_t id = (uint32_t)i * IDMAP_LEAF + k, index = idmap_get(from, id);
			if (index != UINT32_MAX)
				idmap_set(to, id, index);
		}
	idmap_release(from);
}

static uint64_t run_of(uint32_t first, uint32_t count, uint32_t index)
{
	return 1 | first << 1 | (uint64_t)count << 8 | (uint64_t)index << 16;
}

/* Turns a run into a leaf. */
static uint32_t *spread(struct idmap *m, uint64_t run)
{
	uint32_t *leaf = xcalloc(IDMAP_LEAF, sizeof *leaf);

	m->bytes += IDMAP_LEAF * sizeof *leaf;
	for (uint32_t i = 0; i < idmap_count(run); i++)
		leaf[idmap_first(run) + i] = idmap_index(run) + i + 1;
	return leaf;
}

void idmap_set(struct idmap *m, uint32_t id, uint32_t index)
{
	size_t room = m->room;
	uint32_t place = id % IDMAP_LEAF;

	if (id >= IDMAP_LIMIT)
		BUG("idmap: id %u", id);
	GROW(m->top, m->room, (size_t)id / IDMAP_LEAF + 1);
	m->bytes += (m->room - room) * sizeof *m->top;
	uint64_t *leaf = &m->top[id / IDMAP_LEAF];
	if (id >= m->end)
		m->end = id + 1;
	if (!*leaf) {
		*leaf = run_of(place, 1, index);
		return;
	}
	if (idmap_is_run(*leaf)) {
		uint32_t first = idmap_first(*leaf), count = idmap_count(*leaf);
		if (place == first + count && index == idmap_index(*leaf) + count) {
			*leaf = run_of(first, count + 1, idmap_index(*leaf));
			return;
		}
		*leaf = (uintptr_t)spread(m, *leaf);
	}
	((uint32_t *)(uintptr_t)*leaf)[place] = index + 1;
}
