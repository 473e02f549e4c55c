/* SPDX-License-Identifier: MIT
 *
 * real.h - the allocator behind the hooks, and blocks served during its lookup.
 */
#ifndef MT_MODULES_REAL_H
#define MT_MODULES_REAL_H

#include "base/compiler.h"
#include "base/types.h"
#include "modules/names.h"

#pragma GCC visibility push(hidden)

struct real {
	HEAP_NAMES(NAMES_MEMBER)
	/* Behind the hooks, but not in the C library; NULL. */
	HEAP_FOREIGN_NAMES(NAMES_MEMBER)
	/* The malloc that the program reaches, where another one comes before the hooks; NULL = the
	 * hooks. */
	void *(*front_realloc)(void *, size_t);
	void (*front_free)(void *);
};
extern struct real mt_real;             /* valid from the first instruction on */
bool mt_real_find(void);                /* idempotent, re-entrant */
void *mt_real_next(const char *symbol); /* RTLD_NEXT, or NULL */
/* ... if it is not the C library's own, else NULL */
void *mt_real_foreign(const char *symbol);
bool mt_real_linked(void); /* ... --wrap's: agent/linked/ */
/* the malloc before the hooks; NULL = none, or the agent is attached */
void *mt_real_before(const char *symbol);
void mt_real_late(void); /* before the first lookup: the agent was attached */
bool mt_real_came_late(void);
/* in scope of the module at caller; allocates */
void *mt_real_beside(uintptr_t caller, const char *symbol);
bool mt_real_is_agent(uintptr_t pc); /* code of the agent itself */
const char *mt_real_front(void);     /* the owner of the malloc before the hooks; NULL = none */
/* ... another function that operator new calls comes before the hooks */
bool mt_real_front_part(void);
unsigned mt_real_granule(void); /* smallest distance of two blocks, bytes */
/* a block of the loader's, from a lookup by the agent: never counted */
void *mt_real_boot_alloc(size_t bytes, size_t align);
/* the memory of those blocks; NULL = none, the usual case */
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
