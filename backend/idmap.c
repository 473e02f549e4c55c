/* SPDX-License-Identifier: MIT
 *
 * idmap.c - see idmap.h.
 */
#include "idmap.h"

#include <stdlib.h>

void idmap_release(struct idmap *m)
{
	for (size_t i = 0; m->top && i < 4096; i++) {
		for (size_t k = 0; m->top[i] && k < 256; k++)
			free(m->top[i][k]);
		free(m->top[i]);
	}
	free(m->top);
	*m = (struct idmap){ 0 };
}

void idmap_set(struct idmap *m, uint32_t id, uint32_t index)
{
	if (id >= IDMAP_LIMIT)
		BUG("idmap: id %u", id);
	if (!m->top) {
		m->top = xcalloc(4096, sizeof *m->top);
		m->bytes += 4096 * sizeof *m->top;
	}
	uint32_t ***mid = &m->top[id >> 14];
	if (!*mid) {
		*mid = xcalloc(256, sizeof **mid);
		m->bytes += 256 * sizeof **mid;
	}
	uint32_t **leaf = &(*mid)[id >> 6 & 255];
	if (!*leaf) {
		*leaf = xcalloc(64, sizeof **leaf);
		m->bytes += 64 * sizeof **leaf;
	}
	(*leaf)[id & 63] = index + 1;
	if (id >= m->end)
		m->end = id + 1;
}
