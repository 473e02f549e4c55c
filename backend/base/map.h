/* SPDX-License-Identifier: MIT
 *
 * map.h - 64-bit keys to 32-bit values: open addressing, no single removal. 0 is a valid key.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/base.h"

struct map {
	struct map_cell {
		uint64_t key;
		uint32_t value;
		bool used;
	} * cells;
	size_t room, count; /* room is a power of two or 0 */
};

void map_release(struct map *m);
void map_clear(struct map *m);
uint32_t map_get(const struct map *m, uint64_t key, uint32_t otherwise);
void map_set(struct map *m, uint64_t key, uint32_t value);

static inline uint64_t hash_mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 33;
}

static inline uint64_t hash_string(const char *s, uint64_t h)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return hash_mix(h);
}

#endif
