/* SPDX-License-Identifier: MIT
 *
 * arena.h - private memory, bump-allocated in chunks, never freed singly. Any thread, no locks.
 */
#ifndef MT_BASE_ARENA_H
#define MT_BASE_ARENA_H

#include "base/compiler.h"
#include "base/types.h"

#pragma GCC visibility push(hidden)

/* What memory is for. Each need may take a share of the cap, and the finest detail stops first: so
 * what was seen can still be counted, and each call site finds a place (unwind/fold.c). */
enum need {
	NEED_WHOLE, /* nodes of whole stacks */
	NEED_INNER, /* ... of their inner frames */
	NEED_FEW,   /* ... of the innermost ones */
	NEED_PEAK,  /* copies of counters */
	NEED_COUNTERS,
	NEED_CALL_SITES, /* nodes of call sites alone; code locations */
	NEED_ALL,
	NEED_ALWAYS, /* bounded otherwise: never refused, and not part of the sum */
};

void *mt_arena_alloc(size_t bytes); /* 16-aligned, zeroed; NULL when the cap is met */
/* The same, but NULL when the need's share of the cap is taken. */
void *mt_arena_alloc_for(enum need need, size_t bytes);
/* The same, for memory that all threads share: what is at *place, which begins as NULL; the first
 * thread that asks makes it. NULL: the need's share is taken. */
void *mt_arena_place(void *_Atomic *place, enum need need, size_t bytes);
#define ARENA_CLAIMED ((void *)1) /* at a place: some thread makes it just now */
MT_INLINE bool arena_is_made(const void *at_place)
{
	return (uintptr_t)at_place > (uintptr_t)ARENA_CLAIMED;
}
/* The finest need that still had room when this was computed last. */
extern _Atomic uint32_t mt_arena_finest;
MT_INLINE bool mt_arena_has(enum need need)
{
	return need >= atomic_load_explicit(&mt_arena_finest, memory_order_relaxed);
}
uint64_t mt_arena_bytes(void); /* handed out: the sum that the cap bounds */
uint64_t mt_arena_cap(void);   /* bytes; changes with what was told last */
/* For the cap, in bytes: the pages in all of the agent's mappings, the program's peak, the memory
 * that the target may still take. Server thread. */
void mt_arena_tell(uint64_t resident, uint64_t peak, uint64_t room);
/* what memory is for */
enum part { PART_MAP, PART_STACKS, PART_CACHES, PART_THREADS, PART_SERVER, PART_COUNT };
/* ranges */
void mt_arena_each(void (*visit)(void *arg, enum part part, uintptr_t start, uintptr_t end),
		   void *arg);
bool mt_arena_owns(uintptr_t start, uintptr_t end); /* range holds agent memory (server keeps it) */
/* register a mapping of the agent's */
void mt_arena_range(uintptr_t start, size_t bytes, enum part part);

#pragma GCC visibility pop

#endif
