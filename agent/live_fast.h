/* SPDX-License-Identifier: MIT
 *
 * live_fast.h - the part of the live map that every malloc and free runs: small blocks at even
 * addresses whose leaf is there. Everything else is live.c's, which has the design.
 */
#ifndef MT_LIVE_FAST_H
#define MT_LIVE_FAST_H

#include "agent.h"

#define REGION_SHIFT 24
#define REGION_MASK (((uintptr_t)1 << REGION_SHIFT) - 1)
#if defined(__x86_64__)
#define ADDRESS_BITS 47
#else
#define ADDRESS_BITS 48
#endif
#define LARGE_SHIFT 10
#define LARGE_MIN ((size_t)1 << LARGE_SHIFT)

/* A large block. xmeta: slot 24 | tick 16 | thread 14 | address bits 3..9. */
struct large {
	_Atomic uint64_t xmeta; /* 0 = none */
	_Atomic uint64_t xsize;
};

struct region {
	_Atomic uint64_t *_Atomic xsmall; /* NULL until used */
	struct large *_Atomic xlarge;
};

/* One map: for even addresses, there from the start, or for odd ones, made for the first of them. */
struct shadow {
	struct region *_Atomic xroot;
};

#pragma GCC visibility push(hidden)
extern struct shadow mt_live_even;
extern unsigned mt_live_granule_shift;  /* set at start */
extern _Atomic uint32_t mt_live_xtick;
#pragma GCC visibility pop

MT_INLINE uintptr_t plain_address(const void *p)
{
#if defined(__aarch64__)
	return (uintptr_t)p & (((uintptr_t)1 << 56) - 1); /* without its tag */
#else
	return (uintptr_t)p;
#endif
}

MT_INLINE uint64_t pack_small(size_t size, slot_id slot, uint32_t tick, uint32_t thread)
{
	return (uint64_t)size << 54 | (uint64_t)slot << 30 | (uint64_t)tick << 14 | thread;
}

MT_INLINE struct block unpack_small(uint64_t e)
{
	struct block b = { e >> 54, e >> 30 & 0xffffff, e >> 14 & 0xffff, e & 0x3fff };

	return b;
}

/* Where a small block at p has its entry; NULL: ask live.c. Only once mt_live_init() has run. */
MT_INLINE _Atomic uint64_t *live_small(const void *p)
{
	uintptr_t addr = plain_address(p);
	_Atomic uint64_t *leaf;

	if (unlikely(addr & (8 | ~(uintptr_t)0 << ADDRESS_BITS)))
		return NULL;
	struct region *root = atomic_load_explicit(&mt_live_even.xroot, memory_order_relaxed);
	const struct region *r = &root[addr >> REGION_SHIFT];
	leaf = atomic_load_explicit(&r->xsmall, memory_order_acquire);
	return likely(leaf) ? leaf + ((addr & REGION_MASK) >> mt_live_granule_shift) : NULL;
}

/* Is there an entry for p? For filtered blocks, where the answer is mostly no. */
MT_INLINE bool live_knows(const void *p)
{
	uintptr_t addr = plain_address(p);
	const _Atomic uint64_t *e = live_small(p);
	struct block b;

	if (unlikely(!e))
		return mt_live_peek(p, &b);
	if (atomic_load_explicit(e, memory_order_relaxed))
		return true;
	const struct region *root = atomic_load_explicit(&mt_live_even.xroot, memory_order_relaxed);
	const struct large *l = atomic_load_explicit(&root[addr >> REGION_SHIFT].xlarge,
						     memory_order_acquire);
	return unlikely(l) && atomic_load_explicit(&l[(addr & REGION_MASK) >> LARGE_SHIFT].xmeta,
					 memory_order_relaxed) && mt_live_peek(p, &b);
}

/* The part of a small entry that one thread's blocks of one slot share. */
MT_INLINE uint64_t live_mark(const struct thread *t, slot_id slot)
{
	return pack_small(0, slot, 0, atomic_load_explicit(&t->xindex, memory_order_relaxed));
}

/* Returns what was there: not 0 = a block that was freed past us. */
MT_INLINE uint64_t live_put(_Atomic uint64_t *e, size_t size, uint64_t mark)
{
	uint32_t tick = atomic_load_explicit(&mt_live_xtick, memory_order_relaxed);
	uint64_t stale = atomic_load_explicit(e, memory_order_relaxed);

	atomic_store_explicit(e, pack_small(size, 0, tick, 0) | mark, memory_order_release);
	return stale;
}

#endif
