/* SPDX-License-Identifier: MIT
 *
 * real.h - the allocator behind the hooks, and blocks served during its lookup.
 */
#ifndef MT_MODULES_REAL_H
#define MT_MODULES_REAL_H

#include "base/compiler.h"
#include "base/types.h"

#pragma GCC visibility push(hidden)

struct real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	/* What the program reaches, where another malloc comes before ours; NULL = ours. */
	void *(*front_realloc)(void *, size_t);
	void (*front_free)(void *);
};
extern struct real mt_real;             /* valid from the first instruction on */
bool mt_real_find(void);                /* idempotent, re-entrant */
void *mt_real_next(const char *symbol); /* RTLD_NEXT, or NULL */
bool mt_real_linked(void);              /* ... --wrap's: agent/linked/ */
/* what comes before ours; NULL = nothing, or we are attached */
void *mt_real_before(const char *symbol);
void mt_real_late(void); /* before it finds any: the agent was attached */
bool mt_real_came_late(void);
/* in scope of the module at caller; allocates */
void *mt_real_beside(uintptr_t caller, const char *symbol);
bool mt_real_is_agent(uintptr_t pc); /* code of the agent itself */
const char *mt_real_front(void);     /* whose malloc comes before ours; NULL = none's */
bool mt_real_front_part(void);       /* ... what operator new is written on comes before ours */
unsigned mt_real_granule(void);      /* smallest distance of two blocks, bytes */
/* the loader's, on our behalf: never counted */
void *mt_real_boot_alloc(size_t bytes, size_t align);
/* what those lie in; NULL = there are none, as a rule */
extern struct boot_chunk *_Atomic mt_real_boot;
bool mt_real_boot_has(const void *p);
MT_INLINE bool mt_real_boot_owns(const void *p)
{
	return unlikely(atomic_load_explicit(&mt_real_boot, memory_order_relaxed)) &&
	       mt_real_boot_has(p);
}
size_t mt_real_boot_size(const void *p);

#pragma GCC visibility pop

#endif
