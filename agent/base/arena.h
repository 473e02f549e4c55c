/* SPDX-License-Identifier: MIT
 *
 * arena.h - private memory, bump-allocated in chunks, never freed singly. Any thread, no locks.
 */
#ifndef MT_BASE_ARENA_H
#define MT_BASE_ARENA_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

void *mt_arena_alloc(size_t bytes); /* 16-aligned, zeroed; NULL when the cap is met */
/* for the call tree: stops an eighth before the cap, so that its nodes can be counted */
void *mt_arena_alloc_path(size_t bytes);
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
