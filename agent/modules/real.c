/* SPDX-License-Identifier: MIT
 *
 * real.c - the allocator behind the hooks, and blocks for the loader during its lookup.
 *
 * mt_real is valid from the first instruction on: its first members look the real functions up and
 * forward the call, so no hook tests for that. What allocates on the way gets blocks from the
 * agent's own pool, which grows by mapping. Such blocks carry their size in
 * front, and the agent knows them by address until the process ends: free() ignores them, realloc()
 * copies out of them, and they are never counted.
 *
 * Lookups run one at a time without a lock: the first precedes all other threads, and a later one
 * (mt_real_beside) is marked `quiet` in its own thread's state.
 */
#include "modules/real.h"
#include "base/arena.h"
#include "base/libc.h"
#include "base/prim_linux.h"
#include "modules/linked.h"
#include "modules/object.h"
#include "modules/rebind.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define BOOT_CHUNK (64 * 1024)
#define BOOT_HEADER 16 /* size of the block, then padding */

/* Pieces that blocks are cut from, newest first; never given back. */
struct boot_chunk {
	struct boot_chunk *next;
	size_t bytes;         /* of the whole mapping */
	_Atomic size_t xused; /* from the start of this struct; may pass bytes */
};

struct boot_chunk *_Atomic mt_real_boot;
static _Atomic bool xfinding; /* inside the first lookup */
static _Atomic bool xfound;
static const char *front; /* a name of the loader's */
static bool late; /* attached: libc comes before the agent, so no module finds the agent's malloc
		     first */

static void *first_malloc(size_t n);
static void first_free(void *p);
static void *first_calloc(size_t n, size_t size);
static void *first_realloc(void *p, size_t n);
static int first_posix_memalign(void **out, size_t align, size_t n);
static void *first_aligned_alloc(size_t align, size_t n);
static void *first_valloc(size_t n);
static size_t first_usable_size(void *p);

struct real mt_real = {
	.malloc = first_malloc,
	.free = first_free,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.posix_memalign = first_posix_memalign,
	.aligned_alloc = first_aligned_alloc,
	.memalign = first_aligned_alloc,
	.valloc = first_valloc,
	.pvalloc = first_valloc,
	.malloc_usable_size = first_usable_size,
};

static struct boot_chunk *boot_grow(struct boot_chunk *old, size_t need)
{
	size_t bytes = need + sizeof(struct boot_chunk) + BOOT_CHUNK;

	bytes &= ~(size_t)(BOOT_CHUNK - 1);
	struct boot_chunk *c = mt_prim_map(bytes, false);
	if (!c)
		return NULL;
	c->bytes = bytes;
	c->next = old;
	atomic_store_explicit(&c->xused, sizeof(*c), memory_order_relaxed);
	if (atomic_compare_exchange_strong(&mt_real_boot, &old, c)) {
		mt_arena_range((uintptr_t)c, bytes, PART_STACKS);
		return c;
	}
	mt_prim_unmap(c, bytes);
	return old; /* somebody else was faster: use theirs */
}

void *mt_real_boot_alloc(size_t bytes, size_t align)
{
	if (align < 16)
		align = 16;
	size_t need = bytes + align + BOOT_HEADER;
	if (need < bytes)
		return NULL;
	struct boot_chunk *c = atomic_load_explicit(&mt_real_boot, memory_order_acquire);
	for (;;) {
		size_t at = c ? atomic_fetch_add(&c->xused, need) : 0;
		if (c && at + need <= c->bytes) {
			uintptr_t p = (uintptr_t)c + at + BOOT_HEADER;
			p = (p + align - 1) & ~(uintptr_t)(align - 1);
			((size_t *)p)[-1] = bytes;
			return (void *)p;
		}
		c = boot_grow(c, need);
		if (!c)
			return NULL;
	}
}

bool mt_real_boot_has(const void *p)
{
	const struct boot_chunk *c = atomic_load_explicit(&mt_real_boot, memory_order_acquire);

	for (; c; c = c->next)
		if ((uintptr_t)p - (uintptr_t)c < c->bytes)
			return true;
	return false;
}

size_t mt_real_boot_size(const void *p)
{
	return ((const size_t *)p)[-1];
}

static void *listed(const struct rebind *l, const char *symbol)
{
	while (l && l->name && strcmp(l->name, symbol))
		l++;
	return l ? l->real : NULL;
}

static void *linked_real(const char *symbol)
{
	void *f = listed(mt_linked, symbol);

	return f ? f : listed(mt_linked_cxx, symbol);
}

bool mt_real_linked(void)
{
	return mt_linked;
}

void *mt_real_next(const char *symbol)
{
	if (mt_real_linked())
		return linked_real(symbol);
	return late ? mt_object_definition(symbol) : mt_object_next(symbol);
}

void *mt_real_foreign(const char *symbol)
{
	void *f = mt_real_next(symbol);

	return mt_libc_foreign(symbol, f) ? f : NULL;
}

/* RTLD_NEXT would find the next definition in the agent's own scope: its libc, and no allocator of
 * the program. */
void mt_real_late(void)
{
	late = true;
}

bool mt_real_came_late(void)
{
	return late;
}

static bool is_agent(const void *addr)
{
	struct object o;

	return mt_object_of((const void *)(uintptr_t)mt_real_beside, &o) &&
	       mt_object_holds(&o, addr);
}

/*
 * A module that came by dlopen(RTLD_LOCAL) has libraries in its scope that RTLD_NEXT does not
 * see. Slow and rare: only when operator new has failed and its handler is wanted. The loader
 * allocates on the way.
 */
void *mt_real_beside(uintptr_t caller, const char *symbol)
{
	struct object o;
	const char *name = mt_object_of((void *)caller, &o);
	void *f, *handle;

	if (!name || !LIBC(dlopen) || !LIBC(dlsym) || !LIBC(dlclose))
		return NULL;
	handle = LIBC(dlopen)(name, RTLD_LAZY | RTLD_NOLOAD);
	f = handle ? LIBC(dlsym)(handle, symbol) : NULL;
	if (!f) /* takes back the message, which the program's next dlerror() would show */
		LIBC(dlerror)();
	if (handle)
		LIBC(dlclose)(handle);
	return f && !is_agent(f) ? f : NULL;
}

bool mt_real_is_agent(uintptr_t pc)
{
	return is_agent((void *)pc);
}

/* An executable with a malloc of its own, or a library that was preloaded before the agent.
 * Functions that the agent builds on others (reallocarray, operator new) must then call that
 * malloc, as they would without the agent. */
static void *in_front(const char *symbol)
{
	return mt_object_front(symbol);
}

const char *mt_real_front(void)
{
	return front;
}

void *mt_real_before(const char *symbol)
{
	return late || mt_real_linked() ? NULL : in_front(symbol);
}

/* A program may define free alone, to see what is freed. */
bool mt_real_front_part(void)
{
	return front || mt_real.front_free || mt_real_before("aligned_alloc") ||
	       mt_real_before("posix_memalign");
}

static void find_front(struct real *r)
{
	void *f = in_front("malloc"), *moves = in_front("realloc"), *frees = in_front("free");
	struct object o;

	front = f ? mt_object_of(f, &o) : NULL;
	if (front && !*front) /* the program */
		front = (const char *)getauxval(AT_EXECFN);
	memcpy(&r->front_realloc, &moves, sizeof(moves));
	memcpy(&r->front_free, &frees, sizeof(frees));
}

/*
 * musl's calloc asks whatever malloc the program has, its posix_memalign and memalign whatever
 * aligned_alloc: called from their hooks, a block would be counted twice. They are written on the
 * others; as musl's are, when malloc is not its own.
 */
#if defined(__GLIBC__) || defined(__BIONIC__)
static void untangle(struct real *r)
{
	(void)r;
}
#else
static void *calloc_of_malloc(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	void *p = mt_real.malloc(bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

static int posix_memalign_of_aligned(void **out, size_t align, size_t n)
{
	if (align < sizeof(void *))
		return EINVAL;
	int saved = errno;
	void *p = mt_real.aligned_alloc(align, n);
	int error = p ? 0 : errno;
	errno = saved;
	if (p)
		*out = p;
	return error;
}

static void untangle(struct real *r)
{
	struct object libc;

	if (!mt_real_linked() && (!mt_object_of((void *)LIBC(exit), &libc) ||
				  !mt_object_holds(&libc, (const void *)(uintptr_t)r->malloc)))
		return; /* somebody else's malloc, whose functions are one piece */
	r->calloc = calloc_of_malloc;
	r->posix_memalign = posix_memalign_of_aligned;
	r->memalign = r->aligned_alloc;
	r->valloc = r->pvalloc = first_valloc;
}
#endif

/* Set what is there; what a libc lacks keeps a substitute. */
static void find_all(void)
{
	struct real r = mt_real;
	void *f;

#define FIND(linked, weak, name, ...)                                                              \
	f = mt_real_next(#name);                                                                   \
	if (f)                                                                                     \
		memcpy(&r.name, &f, sizeof(f));
#define FIND_FOREIGN(linked, weak, name, result, parameters, ...)                                  \
	r.name = (result(*) parameters)mt_real_foreign(#name);
	HEAP_NAMES(FIND)
	if (r.memalign == first_aligned_alloc)
		r.memalign = r.aligned_alloc;
	untangle(&r);
	/* those of the C library would come back to the hooks */
	HEAP_FOREIGN_NAMES(FIND_FOREIGN)
	if (!late && !mt_real_linked())
		find_front(&r);
	mt_real = r;
}

bool mt_real_find(void)
{
	bool expected = false;

	if (atomic_load_explicit(&xfound, memory_order_acquire))
		return true;
	if (!atomic_compare_exchange_strong(&xfinding, &expected, true))
		return false;
	int saved = errno;
	find_all();
	errno = saved;
	bool ok = mt_real.malloc != first_malloc && mt_real.free != first_free;
	atomic_store_explicit(&xfound, ok, memory_order_release);
	atomic_store(&xfinding, false);
	return ok;
}

/*
 * glibc's smallest chunk is 32 bytes, so one entry per 32 bytes is exact. Anybody else's malloc
 * may place blocks 16 (or 8: live/live.c) apart. glibc is known by a symbol beside its malloc.
 */
unsigned mt_real_granule(void)
{
	struct object libc;
	/* of a program that it is linked into, nobody can tell */
	void *f = mt_real_next("gnu_get_libc_version");

	if (sizeof(void *) == 8 && f && mt_object_of(f, &libc) &&
	    mt_object_holds(&libc, (const void *)(uintptr_t)mt_real.malloc))
		return 32;
	return 16;
}

static void *first_malloc(size_t n)
{
	return mt_real_find() ? mt_real.malloc(n) : mt_real_boot_alloc(n, 16);
}

static void first_free(void *p)
{
	if (mt_real_find())
		mt_real.free(p);
}

static void *first_calloc(size_t n, size_t size)
{
	size_t bytes;

	if (mt_real_find())
		return mt_real.calloc(n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : mt_real_boot_alloc(bytes, 16);
}

/* Blocks of the pool never come here: the hook moves them. */
static void *first_realloc(void *p, size_t n)
{
	if (mt_real_find())
		return mt_real.realloc(p, n);
	return p ? NULL : mt_real_boot_alloc(n, 16);
}

static int first_posix_memalign(void **out, size_t align, size_t n)
{
	if (mt_real_find())
		return mt_real.posix_memalign(out, align, n);
	*out = mt_real_boot_alloc(n, align);
	return *out ? 0 : ENOMEM;
}

static void *first_aligned_alloc(size_t align, size_t n)
{
	if (mt_real_find() && mt_real.aligned_alloc != first_aligned_alloc)
		return mt_real.aligned_alloc(align, n);
	return mt_real_boot_alloc(n, align);
}

/* Also the substitute where a libc has no valloc or pvalloc. */
static void *first_valloc(size_t n)
{
	if (mt_real_find() && mt_real.valloc != first_valloc)
		return mt_real.valloc(n);
	return mt_real.aligned_alloc(4096, n);
}

static size_t first_usable_size(void *p)
{
	if (mt_real_find() && mt_real.malloc_usable_size != first_usable_size)
		return mt_real.malloc_usable_size(p);
	return 0;
}
