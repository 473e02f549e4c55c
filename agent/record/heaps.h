/* SPDX-License-Identifier: MIT
 *
 * heaps.h - named heaps: blocks of allocators that the program reports itself (memtop/memtop.h).
 * record/heaps.c has the design.
 */
#ifndef MT_RECORD_HEAPS_H
#define MT_RECORD_HEAPS_H

#include "base/compiler.h"
#include "base/types.h"

struct memtop_heap;
struct cell;

/* belongs to no heap: another allocator's block, from which a heap cuts its own */
#define HEAP_BACKING 0
#define HEAP_BLOCK_MAX ((UINT64_C(1) << 48) - 1) /* bytes; a larger one cannot be entered */

MT_INLINE bool heaps_hold(uint64_t bytes)
{
	return likely(bytes <= HEAP_BLOCK_MAX);
}

#pragma GCC visibility push(hidden)

/* The heap's number from 1, assigned on first use; 0: none left, or no memory. */
unsigned mt_heaps_number(struct memtop_heap *heap);
code_id mt_heaps_code(unsigned number); /* the frame that represents the heap; 0 = none */

/* A claimed cell for a block, until it is put or given up. NULL: no memory. twice: the heap's block
 * already there, taken out; slot 0 = none. */
struct cell *mt_heaps_claim(unsigned heap, uintptr_t key, struct block *twice);
void mt_heaps_give_up(struct cell *c);
void mt_heaps_put(struct cell *c, unsigned heap, uintptr_t key, const struct block *b);
struct block mt_heaps_take(unsigned heap, uintptr_t key); /* slot 0: it has none there */
/* Takes out a block of any heap other than `heap` at that address. */
struct block mt_heaps_take_other(unsigned heap, uintptr_t key);
/* Visits each of the heap's blocks that begins in [start, start + size). */
void mt_heaps_take_range(unsigned heap, uintptr_t start, size_t size,
			 void (*taken)(void *arg, const struct block *b), void *arg);
/* server thread */
void mt_heaps_scan(void (*visit)(void *arg, uintptr_t key, const struct block *b), void *arg);
void mt_heaps_restart(void); /* call when no block is live and no thread reports */

extern _Atomic bool mt_heaps_backed; /* some block was declared to back a heap */
#pragma GCC visibility pop

/* The free of an unknown block: a heap's memory, which does not count itself? Then it is forgotten.
 */
MT_INLINE bool heaps_forget_backing(const void *p)
{
	return unlikely(atomic_load_explicit(&mt_heaps_backed, memory_order_relaxed)) &&
	       mt_heaps_take(HEAP_BACKING, (uintptr_t)p).slot;
}

#endif
