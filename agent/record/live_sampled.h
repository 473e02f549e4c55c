/* SPDX-License-Identifier: MIT
 *
 * live_sampled.h - where in the heap is any block that is recorded, while few are.
 *
 * One block in thousands is recorded while blocks are sampled, and each free asks the live map,
 * whose entries are as far from the processor as the blocks themselves. So one byte per page of the
 * heap says how many blocks that start there have an entry: 16 KiB for a region of 64 MiB, and the
 * usual answer is 0. A byte that has reached its end stays there. Neither count nor map is wrong by
 * it: who finds anything else than 0 asks the map.
 *
 * It is kept from the start of a program that is sampled from its start, until a switch ends the
 * sampling. All that time live_small() finds nothing, so that who enters a block does so in
 * record/live.c, where it is counted. Counting ends, all threads pass a barrier, and only then
 * live_small() finds leaves: so who has a block that was entered past the count finds that nobody
 * counts. Without a barrier (Linux before 4.14) live_small() stays closed.
 */
#ifndef MT_RECORD_LIVE_SAMPLED_H
#define MT_RECORD_LIVE_SAMPLED_H

#include "base/compiler.h"
#include "base/types.h"
#include "record/live_fast.h"

#define FEW_SHIFT 12

#pragma GCC visibility push(hidden)
/* By region: where the byte of address 0 would lie in its table, 0 = nothing is there. NULL: nobody
 * counts. */
extern region_leaf *_Atomic mt_live_few;

bool mt_live_few_begin(void);            /* once, before any block is entered */
void mt_live_few_add(uintptr_t addr);    /* before the entry is there */
void mt_live_few_remove(uintptr_t addr); /* after it has gone */
bool mt_live_few_end(void);              /* server thread; true: every thread knows */
#pragma GCC visibility pop

/* True: there is no entry for a block at p. False: nobody knows. */
MT_INLINE bool live_few_none(const void *p)
{
	const region_leaf *root = atomic_load_explicit(&mt_live_few, memory_order_acquire);
	uintptr_t addr = plain_address(p);

	if (!root || unlikely(address_beyond(addr)))
		return false;
	uintptr_t table = atomic_load_explicit(&root[addr >> REGION_SHIFT], memory_order_acquire);
	return !table || !atomic_load_explicit((_Atomic uint8_t *)(table + (addr >> FEW_SHIFT)),
					       memory_order_relaxed);
}

#endif
