/* SPDX-License-Identifier: MIT
 *
 * count_preload.c - the second oracle: forwards the malloc family and counts, nothing else.
 *
 * Counts as valgrind memcheck does: a successful realloc of a block is one free and one allocation
 * of the new size. The counters lie in a shared mapping of the file "counts" beside this library,
 * so that they are right however the program ends. A forked child does not count (its flag page is
 * wiped). Requested sizes of live blocks are not kept, so only valgrind gives bytes in use.
 * Operator new counts the requested size, because libstdc++ rounds it up before it calls malloc.
 * The thread-local variable gives it the same size as the agent in a thread's DTV.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct counts {
	_Atomic uint64_t xallocs, xfrees, xbytes;
};

static struct counts early; /* before the file is mapped */
static struct counts *_Atomic xcounts = &early;
static bool *active; /* on a page that fork wipes; NULL = not set up yet */
/* in a function that counts: what it calls (musl's calloc asks our malloc) does not */
static _Thread_local int inside;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static void *(*real_memalign)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);

/* Served to dlsym while the real functions are being looked up; never freed. */
static char pool[65536];
static size_t pool_used;

static bool in_pool(void *p)
{
	return (char *)p >= pool && (char *)p < pool + sizeof(pool);
}

static void *from_pool(size_t size)
{
	size = (size + 15) & ~(size_t)15;
	if (pool_used + size > sizeof(pool))
		_exit(99);
	pool_used += size;
	return pool + pool_used - size;
}

static void look_up(void)
{
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
	real_posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
	real_aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

static bool ready(void)
{
	static bool looking;

	if (real_malloc)
		return true;
	if (looking)
		return false;
	looking = true;
	look_up();
	return true;
}

static void born(void *p, size_t size)
{
	if (!p || inside || (active && !*active))
		return;
	struct counts *c = xcounts;
	c->xallocs++;
	c->xbytes += size;
}

static void gone(void *p)
{
	if (p && (!active || *active))
		xcounts->xfrees++;
}

__attribute__((constructor)) static void set_up(void)
{
	Dl_info info;
	char path[4096];
	int error = errno;

	ready();
	if (!dladdr((void *)&set_up, &info) || strlen(info.dli_fname) > sizeof(path) - 8)
		return;
	snprintf(path, sizeof(path), "%s", info.dli_fname);
	char *slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, 8, "counts");
	/* a program that this one starts finds the file there and stays silent */
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool *flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(flag, 4096, MADV_WIPEONFORK);
	*flag = fd >= 0;
	active = flag;
	if (fd >= 0 && ftruncate(fd, 4096) == 0) {
		struct counts *file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memcpy((void *)file, (void *)&early, sizeof(early));
		xcounts = file;
	}
	close(fd);
	errno = error;
}

EXPORT void *malloc(size_t size)
{
	if (!ready())
		return from_pool(size);
	void *p = real_malloc(size);
	born(p, size);
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	if (!ready())
		return from_pool(n * size);
	inside++;
	void *p = real_calloc(n, size);
	inside--;
	born(p, n * size);
	return p;
}

EXPORT void free(void *p)
{
	if (!p || in_pool(p))
		return; /* nothing need have been looked up yet */
	gone(p);
	real_free(p);
}

EXPORT void *realloc(void *old, size_t size)
{
	ready();
	void *p = real_realloc(old, size);
	if (p || (old && !size))
		gone(old);
	born(p, size);
	return p;
}

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	ready();
	inside++;
	void *p = real_memalign(alignment, size);
	inside--;
	born(p, size);
	return p;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	ready();
	inside++;
	void *p = real_aligned_alloc(alignment, size);
	inside--;
	born(p, size);
	return p;
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
	ready();
	inside++;
	int rc = real_posix_memalign(out, alignment, size);
	inside--;
	if (rc == 0)
		born(*out, size);
	return rc;
}

EXPORT void *valloc(size_t size);
EXPORT void *valloc(size_t size)
{
	ready();
	inside++;
	void *p = real_memalign((size_t)sysconf(_SC_PAGESIZE), size);
	inside--;
	born(p, size);
	return p;
}

/* Counted with the pages that it gives, as valgrind does. */
EXPORT void *pvalloc(size_t size);
EXPORT void *pvalloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return memalign(page, (size + page - 1) / page * page);
}

/* The real operator new of libstdc++, which calls malloc or aligned_alloc; an exception passes
 * through. */
static void leave(int *kept)
{
	inside = *kept;
}

#define OPERATOR_NEW(symbol, parameters, ...)                                                      \
	EXPORT void *symbol parameters;                                                            \
	EXPORT void *symbol parameters                                                             \
	{                                                                                          \
		static void *(*real)parameters;                                                    \
		if (!real)                                                                         \
			real = (void *(*)parameters)dlsym(RTLD_NEXT, #symbol);                     \
		void *p;                                                                           \
		{                                                                                  \
			__attribute__((cleanup(leave))) int kept = inside;                         \
			inside = 1;                                                                \
			p = real(__VA_ARGS__);                                                     \
		}                                                                                  \
		born(p, size);                                                                     \
		return p;                                                                          \
	}

OPERATOR_NEW(_Znwm, (size_t size), size)
OPERATOR_NEW(_Znam, (size_t size), size)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), size, tag)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), size, tag)
OPERATOR_NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), size, align)
OPERATOR_NEW(_ZnamSt11align_val_t, (size_t size, size_t align), size, align)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), size,
	     align, tag)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), size,
	     align, tag)
