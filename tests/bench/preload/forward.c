/* SPDX-License-Identifier: MIT
 *
 * forward.c - a preload that only forwards: the cost of interposing alone. Built with CAPTURE as
 * capture.so it also takes each allocation's stack by libunwind's cached unw_backtrace and drops
 * it: the least cost of a profiler on libunwind.
 */
#include <dlfcn.h>
#include <stdlib.h>

#ifdef CAPTURE
#define UNW_LOCAL_ONLY
#include <libunwind.h>

static __thread int capturing __attribute__((tls_model("initial-exec")));

static void captured(void)
{
	void *pcs[256];

	if (capturing)
		return;
	capturing = 1;
	unw_backtrace(pcs, 256);
	capturing = 0;
}
#else
static void captured(void) {}
#endif

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t),
	*(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
/* dlsym allocates before the names are known */
static char early[4096] __attribute__((aligned(16)));
static size_t early_used;
static int finding;

static void find(void)
{
	finding = 1;
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	finding = 0;
}

static void *early_alloc(size_t n)
{
	void *p = early + early_used;

	early_used += (n + 15) & ~(size_t)15;
	return early_used <= sizeof early ? p : NULL;
}

void *malloc(size_t n)
{
	if (__builtin_expect(!real_malloc, 0))
		find();
	captured();
	return real_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	if (__builtin_expect(!real_calloc, 0)) {
		if (finding)
			return early_alloc(n * size);
		find();
	}
	captured();
	return real_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	if (__builtin_expect(!real_realloc, 0))
		find();
	captured();
	return real_realloc(p, n);
}

void free(void *p)
{
	if ((char *)p >= early && (char *)p < early + sizeof early)
		return;
	if (__builtin_expect(!real_free, 0))
		find();
	real_free(p);
}
