/* SPDX-License-Identifier: MIT
 *
 * bits.h - bitmaps.
 */
#ifndef MT_COLLECT_BITS_H
#define MT_COLLECT_BITS_H

#include "base/compiler.h"
#include "base/types.h"

MT_INLINE bool bit_get(const uint64_t *map, uint32_t i)
{
	return map[i >> 6] >> (i & 63) & 1;
}
MT_INLINE void bit_set(uint64_t *map, uint32_t i)
{
	map[i >> 6] |= 1ull << (i & 63);
}

#endif
