/* SPDX-License-Identifier: MIT
 *
 * live_fast.h - the part of the live map that every malloc and free runs: small blocks at even
 * addresses whose leaf exists. record/live.c handles all others and has the design.
 */
#ifndef MT_RECORD_LIVE_FAST_H
#define MT_RECORD_LIVE_FAST_H

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
#define LARGE_SHIFT 10
#define LARGE_MIN ((size_t)1 << LARGE_SHIFT)

/* A large block. xmeta: slot 24 | tick 16 | thread 14 | address bits 3..9. */
struct large {
	_Atomic uint64_t xmeta; /* 0 = none */
	_Atomic uint64_t xsize;
};

/* A leaf by its region, as the address that the entry of address 0 would have in it, if it were
 * that long; 0 = none. */
typedef _Atomic uintptr_t region_leaf;

#pragma GCC visibility push(hidden)
/* The roots that live_small() reads: the even map, or an empty one, so that record/live.c sees
 * every block. */
extern region_leaf *_Atomic mt_live_fast;
extern unsigned mt_live_granule_shift; /* set at start */
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

/* Is the address past the known address space? */
MT_INLINE bool address_beyond(uintptr_t addr)
{
	return (uint64_t)addr >> ADDRESS_BITS;
}

MT_INLINE uint64_t pack_small(size_t size, slot_id slot, uint32_t tick, uint32_t thread)
{
	return (uint64_t)slot << 40 | (uint64_t)tick << 24 | (uint64_t)thread << 10 | size;
}

MT_INLINE struct block unpack_small(uint64_t e)
{
	struct block b = { e & (LARGE_MIN - 1), e >> 40, e >> 24 & 0xffff, e >> 10 & 0x3fff };

	return b;
}

/* The place of a small block's entry; NULL: call record/live.c. Only once mt_live_init() has run.
 */
MT_INLINE _Atomic uint64_t *live_small(const void *p)
{
	uintptr_t addr = plain_address(p);

	if (unlikely(addr & (8 | (uintptr_t)(~UINT64_C(0) << ADDRESS_BITS))))
		return NULL;
	region_leaf *root = atomic_load_explicit(&mt_live_fast, memory_order_relaxed);
	uintptr_t leaf = atomic_load_explicit(&root[addr >> REGION_SHIFT], memory_order_acquire);
	if (unlikely(!leaf))
		return NULL;
	_Atomic uint64_t *e =
		(_Atomic uint64_t *)(leaf + (addr >> mt_live_granule_shift) * sizeof(uint64_t));
	if (!e)
		__builtin_unreachable(); /* so that callers test for NULL once */
	return e;
}

/* The part of a small entry that all of a thread's blocks of one slot share while the tick lasts.
 */
MT_INLINE uint64_t live_mark(const struct thread *t, slot_id slot)
{
	return pack_small(0, slot, atomic_load_explicit(&mt_live_xtick, memory_order_relaxed),
			  atomic_load_explicit(&t->xindex, memory_order_relaxed));
}

/* Prefetches the entry. It is as cold in the cache as its block, and every second block's is cold.
 * The load runs while the stack is looked up. */
MT_INLINE void live_expect(const _Atomic uint64_t *e)
{
	__builtin_prefetch((const void *)e, 1);
}

/* The slot is occupied by a block that was freed unseen. */
MT_INLINE bool live_occupied(const _Atomic uint64_t *e)
{
	return unlikely(*(const uint64_t *)e); /* nobody else writes it: one comparison */
}

MT_INLINE void live_put(_Atomic uint64_t *e, size_t size, uint64_t mark)
{
	atomic_store_explicit(e, mark | size, memory_order_release);
}

#endif
