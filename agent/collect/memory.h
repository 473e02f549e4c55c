/* SPDX-License-Identifier: MIT
 *
 * memory.h - private memory of the server, and its clock.
 */
#ifndef MT_COLLECT_MEMORY_H
#define MT_COLLECT_MEMORY_H

#include "base/arena.h"
#include "base/types.h"

#define SECOND 1000000000ull
#define MILLI 1000000ull

#pragma GCC visibility push(hidden)

/* Private memory of the server; NULL = none left. Before the server runs its starter allocates,
 * then the server alone: the list has no lock. */
void *memory_map(size_t bytes);
/* False: some are left, because the list is broken. */
bool memory_each(void (*visit)(void *arg, enum part part, uintptr_t start, uintptr_t end),
		 void *arg);
void memory_unmap(void *p, size_t bytes);
bool memory_owns(uintptr_t start, uintptr_t end); /* overlaps one of them */
void memory_release(void); /* target: frees all memory of a server that is gone */
void memory_forget(void);  /* in a forked child: frees its copies */
uint64_t server_now(void); /* ns since the agent started */

#pragma GCC visibility pop

#endif
