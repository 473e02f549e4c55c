/* SPDX-License-Identifier: MIT
 *
 * meta.h - a block's slot, birth tick and thread in one word, with ten bits to spare:
 * slot 24 | tick 16 | thread 14 | spare 10. A word of 0 is no block.
 */
#ifndef MT_LIVE_META_H
#define MT_LIVE_META_H

#include "base/compiler.h"
#include "base/types.h"

MT_INLINE uint64_t pack_meta(const struct block *b, uint64_t spare)
{
	return (uint64_t)b->slot << 40 | (uint64_t)b->tick << 24 | (uint64_t)b->thread << 10 |
	       spare;
}

MT_INLINE uint64_t meta_spare(uint64_t meta)
{
	return meta & 0x3ff;
}

MT_INLINE struct block unpack_meta(uint64_t meta, uint64_t size)
{
	struct block b = { size, meta >> 40, meta >> 24 & 0xffff, meta >> 10 & 0x3fff };

	return b;
}

#endif
