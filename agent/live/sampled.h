/* SPDX-License-Identifier: MIT
 *
 * sampled.h - where the recorded blocks are, while sampling records few: which pages of the
 * heap have any, and a leaf of their own.
 *
 * With sampling one block in thousands is recorded. Each free would still look in the live map,
 * whose entries are as cold in the cache as the blocks themselves. So one byte per page of the heap
 * counts the recorded blocks that start there: 1 KiB for a region of 4 MiB, and usually 0. A byte
 * that reaches its maximum stays there; a region whose place another one has is not counted. All
 * stay correct: a reader that does not find a count of 0 looks in the map.
 *
 * The counts hold from the start of a program that is sampled from its start, until a switch ends
 * the sampling. All that time live_small() finds nothing, so every new entry goes through
 * live/live.c, which counts it. Then counting ends, all threads pass a barrier, and only after
 * that live_small() finds leaves. So a thread that frees a block entered without a count also finds
 * counting ended. Without a barrier (Linux before 4.14) live_small() stays closed.
 *
 * A SPARSE LEAF holds the small blocks at even addresses that are entered in that time: one entry
 * per KiB of heap, as the large leaf's. A page of the small leaf would be touched for each of them,
 * for it covers 32 KiB of heap; a page of this one covers 256. The block that comes first takes the
 * place; a second one in the same KiB goes to the small leaf. Blocks of one KiB may belong to
 * several threads, so a place is claimed by compare-and-swap: 0, SPARSE_CLAIMED, the entry. While
 * it is claimed it belongs to no block: a signal handler, or another thread, goes to the small
 * leaf, and in a child that was forked in between it stays so. Only its block's owner frees a
 * place. These entries stay when the counting ends, so lookups go on to find them.
 */
#ifndef MT_LIVE_SAMPLED_H
#define MT_LIVE_SAMPLED_H

#include "base/compiler.h"
#include "base/types.h"
#include "live/live_fast.h"

#define FEW_SHIFT 12

#pragma GCC visibility push(hidden)
/* Whose xleaf is the address of the region's table. NULL: counting is off. */
extern struct place *_Atomic mt_live_few;

bool mt_live_few_begin(void);            /* once, before any block is entered */
void mt_live_few_add(uintptr_t addr);    /* before the entry is there */
void mt_live_few_remove(uintptr_t addr); /* after it has gone */
bool mt_live_few_end(void);              /* server thread; true: every thread has seen it */

extern _Atomic bool mt_live_sparse; /* there may be sparse leaves, which live/live.c fills */
#define SPARSE_CLAIMED UINT64_C(1)  /* no slot, and no even address */
/* False: it goes elsewhere. True: it is entered; old->slot is not 0: in the place of *old, which
 * was freed unseen. */
bool mt_live_sparse_put(uintptr_t addr, const struct block *b, struct block *old);
bool mt_live_sparse_take_any(uintptr_t addr, struct block *b);
bool mt_live_sparse_peek_any(uintptr_t addr, struct block *b);
#pragma GCC visibility pop

/* True: a block at p has no entry. False: unknown. */
MT_INLINE bool live_few_none(const void *p)
{
	struct place *places = atomic_load_explicit(&mt_live_few, memory_order_acquire);
	uintptr_t addr = plain_address(p);

	if (!places)
		return false;
	const struct place *at = place_of(places, addr);
	const uint8_t *table = (uint8_t *)atomic_load_explicit(&at->xleaf, memory_order_relaxed);
	if (!table) /* no block was counted here */
		return true;
	uintptr_t offset = place_offset(at, addr);
	/* a block's count was written before the block was passed on: a plain load, one instruction
	 */
	return likely(!offset_outside(offset)) && !table[offset >> FEW_SHIFT];
}

/* False: the block at addr has no entry here. */
MT_INLINE bool mt_live_sparse_take(uintptr_t addr, struct block *b)
{
	return unlikely(atomic_load_explicit(&mt_live_sparse, memory_order_relaxed)) &&
	       mt_live_sparse_take_any(addr, b);
}

MT_INLINE bool mt_live_sparse_peek(uintptr_t addr, struct block *b)
{
	return unlikely(atomic_load_explicit(&mt_live_sparse, memory_order_relaxed)) &&
	       mt_live_sparse_peek_any(addr, b);
}

#endif
