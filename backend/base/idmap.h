/* SPDX-License-Identifier: MIT
 *
 * idmap.h - maps wire ids (sparse, below 2^26) to dense indices. One thread owns it.
 *
 * A radix tree of two levels with small leaves. Memory follows the number of ids, at worst some 270
 * bytes each plus 8 MB, never the largest id; a lookup is two loads. Most ids come in order: such a
 * leaf is a run (first id, count, first index) stored in the upper level, eight bytes for 64 ids
 * and one load.
 */
#ifndef BASE_IDMAP_H
#define BASE_IDMAP_H

#include "base/base.h"

#define IDMAP_LIMIT (1u << 26)
#define IDMAP_LEAF 64u

struct idmap {
	/* 0 = no id; an address of [64] of index + 1, 0 = none; or a run: 1 | first << 1 | count <<
	 * 8 | index << 16 */
	uint64_t *top;
	size_t room;    /* of top */
	uint64_t bytes; /* allocated */
	uint32_t end;   /* highest id + 1 */
};

void idmap_release(struct idmap *m);
/* Adds all of `from`, whose ids `to` does not have; empties `from`. */
void idmap_move(struct idmap *to, struct idmap *from);
/* to: empty. A map that nobody changes may be read by any thread. */
void idmap_copy(struct idmap *to, const struct idmap *from);
/* id < IDMAP_LIMIT, which was not set */
void idmap_set(struct idmap *m, uint32_t id, uint32_t index);

static inline bool idmap_is_run(uint64_t leaf)
{
	return leaf & 1;
}
static inline uint32_t idmap_first(uint64_t run)
{
	return (uint32_t)(run >> 1) % IDMAP_LEAF;
}
static inline uint32_t idmap_count(uint64_t run)
{
	return (uint32_t)(run >> 8) & 0xff;
}
static inline uint32_t idmap_index(uint64_t run)
{
	return (uint32_t)(run >> 16);
}

static inline uint32_t idmap_get(const struct idmap *m, uint32_t id) /* UINT32_MAX = none */
{
	if (id >= m->end)
		return UINT32_MAX;
	uint64_t leaf = m->top[id / IDMAP_LEAF];

	if (idmap_is_run(leaf)) {
		uint32_t at = id % IDMAP_LEAF - idmap_first(leaf);
		return at < idmap_count(leaf) ? idmap_index(leaf) + at : UINT32_MAX;
	}
	return leaf ? ((const uint32_t *)(uintptr_t)leaf)[id % IDMAP_LEAF] - 1 : UINT32_MAX;
}

/* Fetches what idmap_get() reads of it. */
FETCHES idmap_expect(const struct idmap *m, uint32_t id)
{
	uint64_t leaf = id < m->end ? m->top[id / IDMAP_LEAF] : 0;

	if (leaf && !idmap_is_run(leaf))
		__builtin_prefetch((const uint32_t *)(uintptr_t)leaf + id % IDMAP_LEAF);
}

#endif
