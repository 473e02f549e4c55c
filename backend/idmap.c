/* SPDX-License-Identifier: MIT
 *
 * idmap.c - see idmap.h.
 */
#include "idmap.h"

#include <stdlib.h>

void idmap_release(struct idmap *m)
{
	for (size_t i = 0; i < m->room; i++)
		free(m->top[i]);
	free(m->top);
	*m = (struct idmap){ 0 };
}

void idmap_set(struct idmap *m, uint32_t id, uint32_t index)
{
	size_t room = m->room;

	if (id >= IDMAP_LIMIT)
		BUG("idmap: id %u", id);
	GROW(m->top, m->room, (size_t)id / IDMAP_LEAF + 1);
	m->bytes += (m->room - room) * sizeof *m->top;
	uint32_t **leaf = &m->top[id / IDMAP_LEAF];
	if (!*leaf) {
		*leaf = xcalloc(IDMAP_LEAF, sizeof **leaf);
		m->bytes += IDMAP_LEAF * sizeof **leaf;
	}
	(*leaf)[id % IDMAP_LEAF] = index + 1;
	if (id >= m->end)
		m->end = id + 1;
}
