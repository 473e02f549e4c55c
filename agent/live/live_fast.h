/* SPDX-License-Identifier: MIT
 *
 * live_fast.h - the part of the live map that every malloc and free runs: small blocks at even
 * addresses whose leaf exists. live/live.c handles all others and has the design.
 */
#ifndef MT_LIVE_LIVE_FAST_H
#define MT_LIVE_LIVE_FAST_H

#include "base/compiler.h"
#include "base/types.h"

#define REGION_SHIFT 26
#if defined(__x86_64__)
#define ADDRESS_BITS 47
#elif __SIZEOF_POINTER__ == 4
#define ADDRESS_BITS 32
#else
#define ADDRESS_BITS 48
#endif
#define REGIONS ((size_t)1 << (ADDRESS_BITS - REGION_SHIFT))
#define LARGE_SHIFT 10
#define LARGE_MIN ((size_t)1 << LARGE_SHIFT)
#define ORIGINS (UINT32_C(1) << (32 - LARGE_SHIFT))

/* A small block's entry: the number of its origin 22 | its size 10. 0 = there is no block. */
typedef _Atomic uint32_t small_entry;

/* A leaf by its region, as the address that the entry of address 0 would have in it, if it were
 * that long; 0 = none. */
typedef _Atomic uintptr_t region_leaf;

/* What live_small() reads. */
struct live_open {
	region_leaf leaf[REGIONS]; /* the even map's small leaves, without the closed one */
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

/* Is the address past the known address space? */
MT_INLINE bool address_beyond(uintptr_t addr)
{
	return (uint64_t)addr >> ADDRESS_BITS;
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

	if (unlikely(addr & (8 | (uintptr_t)(~UINT64_C(0) << ADDRESS_BITS))))
		return NULL;
	uintptr_t leaf =
		atomic_load_explicit(&in->leaf[addr >> REGION_SHIFT], memory_order_acquire);
	if (unlikely(!leaf))
		return NULL;
	small_entry *e =
		(small_entry *)(leaf + (addr >> mt_live_granule_shift) * sizeof(small_entry));
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
