/* SPDX-License-Identifier: MIT
 *
 * idmap.h - wire ids (sparse, below 2^26) to dense indices. Main thread only.
 *
 * A radix tree of two levels with small leaves: memory follows the ids that came, at worst some
 * 270 bytes each plus 8 MB, never the largest id; a lookup is two loads.
 */
#ifndef IDMAP_H
#define IDMAP_H

#include "base.h"

#define IDMAP_LIMIT (1u << 26)
#define IDMAP_LEAF 64u

struct idmap {
	uint32_t **top;   /* -> [64] of index + 1, 0 = none */
	size_t room;      /* of top */
	uint64_t bytes;   /* allocated */
	uint32_t end;     /* highest id + 1 */
};

void idmap_release(struct idmap *m);
void idmap_set(struct idmap *m, uint32_t id, uint32_t index); /* id < IDMAP_LIMIT */

static inline uint32_t idmap_get(const struct idmap *m, uint32_t id) /* UINT32_MAX = none */
{
	if (id >= m->end)
		return UINT32_MAX;
	const uint32_t *leaf = m->top[id / IDMAP_LEAF];

	return leaf ? leaf[id % IDMAP_LEAF] - 1 : UINT32_MAX;
}

#endif
