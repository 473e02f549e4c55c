/* SPDX-License-Identifier: MIT
 *
 * live_fast.h - the part of the live map that every malloc and free runs: small blocks at even
 * addresses whose leaf exists. live/live.c handles all others and has the design.
 */
#ifndef MT_LIVE_LIVE_FAST_H
#define MT_LIVE_LIVE_FAST_H

#include "base/compiler.h"
#include "base/types.h"

#define REGION_SHIFT 22
#define REGION_BYTES ((uintptr_t)1 << REGION_SHIFT)
/* 128 GiB of neighbouring regions, or all of a 32-bit machine's */
#define REGION_PLACES ((size_t)1 << (sizeof(void *) == 8 ? 15 : 32 - REGION_SHIFT))
#define LARGE_SHIFT 10
#define LARGE_MIN ((size_t)1 << LARGE_SHIFT)
#define ORIGINS (UINT32_C(1) << (32 - LARGE_SHIFT))

/* A small block's entry: the number of its origin 22 | its size 10. 0 = there is no block. */
typedef _Atomic uint32_t small_entry;

/* The address of a leaf, whose first entry is its region's first; 0 = none. */
typedef _Atomic uintptr_t region_leaf;

/* Where a region's leaf is looked for first. The region that is here first keeps the place; others
 * with the same place are found by live/regions.h alone. */
struct place {
	_Atomic uintptr_t
		xtag;      /* the region's first address; place_empty_tag(): none is here now */
	region_leaf xleaf; /* written before the tag; does not change */
};

/* What live_small() reads. */
struct live_open {
	struct place place[REGION_PLACES]; /* the even map's small leaves, without the closed one */
	/* By number, what blocks share (live/origins.h): 1 | round 1 | thread 14 | tick 16 | slot
	 * 32. 0: live/live.c has to look. */
	_Alignas(4096) _Atomic uint64_t origin[ORIGINS];
};

#pragma GCC visibility push(hidden)
/* mt_live_open, or one without leaves, so that live/live.c sees every block. */
extern struct live_open *_Atomic mt_live_fast;
extern unsigned mt_live_granule_shift; /* set at start */
#pragma GCC visibility pop

MT_INLINE uintptr_t plain_address(const void *p)
{
#if defined(__aarch64__)
	return (uintptr_t)p & (((uintptr_t)1 << 56) - 1); /* without its tag */
#else
	return (uintptr_t)p;
#endif
}

MT_INLINE struct place *place_of(struct place *places, uintptr_t addr)
{
	const unsigned shift = REGION_SHIFT - (sizeof(struct place) == 16 ? 4 : 3);

	return (struct place *)((char *)places +
				(addr >> shift & (REGION_PLACES - 1) * sizeof(struct place)));
}

/* A region that has another place: no address that comes here is in it. */
MT_INLINE uintptr_t place_empty_tag(uintptr_t addr)
{
	return addr >> REGION_SHIFT & (REGION_PLACES - 1) ? 0 : REGION_BYTES;
}

/* The address within the region that is here. */
MT_INLINE uintptr_t place_offset(const struct place *at, uintptr_t addr)
{
	return addr ^ atomic_load_explicit(&at->xtag, memory_order_acquire);
}

/* It is in another region. */
MT_INLINE bool offset_outside(uintptr_t offset)
{
	return unlikely(offset >= REGION_BYTES);
}

MT_INLINE uint64_t origin_pack(slot_id slot, uint32_t tick, uint32_t thread)
{
	return (uint64_t)thread << 48 | (uint64_t)tick << 32 | slot;
}

MT_INLINE struct block origin_block(uint64_t origin, size_t size)
{
	struct block b = { size, (slot_id)origin, origin >> 32 & 0xffff, origin >> 48 & 0x3fff };

	return b;
}

MT_INLINE struct live_open *live_fast(void)
{
	return atomic_load_explicit(&mt_live_fast, memory_order_relaxed);
}

/* The place of a small block's entry; NULL: call live/live.c. Only once mt_live_init() has run. */
MT_INLINE small_entry *live_small(const struct live_open *in, const void *p)
{
	uintptr_t addr = plain_address(p);
	const struct place *at = place_of((struct place *)in->place, addr);

	uintptr_t offset = place_offset(at, addr);
	if (unlikely(offset & (~(REGION_BYTES - 1) | 8)))
		return NULL;
	uintptr_t leaf = atomic_load_explicit(&at->xleaf, memory_order_relaxed);
	small_entry *e = (small_entry *)leaf + (offset >> mt_live_granule_shift);
	if (!e)
		__builtin_unreachable(); /* so that callers test for NULL once */
	return e;
}

/* The origin of an entry that is in the map for as long as this takes: so its number is not free.
 * 0, as for no entry: live/live.c has to look. */
MT_INLINE uint64_t live_origin(const struct live_open *in, uint32_t entry)
{
	/* in this order, or compilers first add the array's place to the index */
	const struct live_open *at = (const void *)((const uint64_t *)in + (entry >> LARGE_SHIFT));

	return atomic_load_explicit(&at->origin[0], memory_order_relaxed);
}

MT_INLINE size_t live_size(uint32_t entry)
{
	return entry & (LARGE_MIN - 1);
}

/* Prefetches the entry. It is as cold in the cache as its block, and every second block's is cold.
 * The load runs while the stack is looked up. */
MT_INLINE void live_expect(const small_entry *e)
{
	__builtin_prefetch((const void *)e, 1);
}

/* The place is occupied by a block that was freed unseen. */
MT_INLINE bool live_occupied(const small_entry *e)
{
	return unlikely(*(const uint32_t *)e); /* nobody else writes it: one comparison */
}

/* `origin`: of live_entry() in live/origins.h */
MT_INLINE void live_put(small_entry *e, size_t size, uint32_t origin)
{
	atomic_store_explicit(e, origin | (uint32_t)size, memory_order_release);
}

#endif
