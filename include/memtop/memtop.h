/* SPDX-License-Identifier: MIT
 *
 * memtop.h - calls by which a program tells the agent about marks and its own heaps.
 *
 * The symbols are weak: an unwatched program pays one test of a pointer per call, and links and
 * runs without memtop.
 *
 *     memtop_set_mark("after login");
 *
 * and, for an allocator other than malloc:
 *
 *     static struct memtop_heap textures = MEMTOP_HEAP("textures");
 *     memtop_report_alloc(&textures, p, size);
 */
#ifndef MEMTOP_MEMTOP_H
#define MEMTOP_MEMTOP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The agent's own function: use memtop_set_mark(). */
extern unsigned memtop_mark(const char *name) __attribute__((weak));

/*
 * Sets a mark, as `s` in the view does: it separates later allocations from earlier ones. name: up
 * to 64 bytes of text, or NULL. Returns the mark's number, or 0 when unwatched or out of marks.
 * Waits a moment for the agent. Not for signal handlers.
 */
static inline unsigned memtop_set_mark(const char *name)
{
	return memtop_mark ? memtop_mark(name) : 0;
}

/* What memtop_stop() adds to a window's name. */
#define MEMTOP_WINDOW_END ".end"

/*
 * A window: memtop_start("parse") and memtop_stop("parse") set the marks "parse" and "parse.end".
 * `memtop report --between parse` shows what was born between them and was alive at the end. name:
 * up to 60 bytes; NULL = "window". Both return what memtop_set_mark() returns. A name that is taken
 * gets a suffix: parse-2, parse.end-2.
 */
static inline unsigned memtop_start(const char *name)
{
	return memtop_set_mark(name ? name : "window");
}

static inline unsigned memtop_stop(const char *name)
{
	char mark[65];
	const char *end = MEMTOP_WINDOW_END;
	size_t n = 0;

	if (!memtop_mark)
		return 0;
	for (name = name ? name : "window"; n < 60 && name[n]; n++)
		mark[n] = name[n];
	while (*end)
		mark[n++] = *end++;
	mark[n] = 0;
	return memtop_set_mark(mark);
}

/*
 * The agent's last reason why nobody can watch this process, as one line; "" while there is no
 * reason. Any thread may read it. `memtop -p PID` and `memtop attach PID` read it from the process'
 * memory. A weak symbol: test its address first.
 */
extern char memtop_said[512] __attribute__((weak));

/*
 * The caller's stack as the agent sees it, in the form of backtrace(3): return addresses, innermost
 * first; frames[0] lies in the caller itself. Stores at most `max` addresses and returns their
 * number, 0 when unwatched. It walks by unwind tables; under unwind=instrument the functions that
 * the thread has entered lead through code without them. Allocates nothing and takes no lock.
 * Signal handlers may call it, except as a thread's very first use of the agent, which maps memory.
 * A weak symbol: test it before the call.
 *
 *     int n = memtop_backtrace ? memtop_backtrace(frames, 64) : 0;
 */
extern int memtop_backtrace(void **frames, int max) __attribute__((weak));

/*
 * NAMED HEAPS. Blocks of the program's own allocator (a pool, an arena, a slab, GPU memory) count
 * as malloc's do: in the totals, at the stack that reports them, with age, thread, marks, filters
 * and sampling. The heap is the innermost frame of that stack and the owner of the block:
 * "heap:NAME" in the Libs view, in reports, and for libs= and exclude=. Heaps of one name are one
 * heap. There can be 1,024 names of up to 64 bytes.
 *
 * Heap and address identify a block. The address is any value but NULL, at any distance from the
 * next: an address, a handle. An address reported twice without a free counts as freed unseen; a
 * free of an unknown address counts as a free from before the agent. The agent counts and reports
 * both.
 *
 * NOT TWICE. When the heap cuts its blocks from a block that already counts (malloc's, or another
 * named heap's), report that block with memtop_report_backing(): it stops counting, as if it were
 * freed then. Memory from mmap does not count.
 *
 * Any thread may call these, and signal handlers, too (except as a thread's very first use of the
 * agent). They keep errno and take no lock. Keep an allocator's order: report an alloc before
 * another thread can see the block, a free before the address can be reused, a realloc before the
 * old address can be reused.
 *
 * Each call costs one test of a pointer while unwatched. An attach sets the pointer in
 * position-independent code (the default of most compilers); blocks from before are unknown.
 */
struct memtop_heap {
	const char *name; /* copied at the first report */
	unsigned number;  /* the agent's; 0 at first */
};
#define MEMTOP_HEAP(name)                                                                          \
	{                                                                                          \
		name, 0                                                                            \
	}

/* The agent's own functions: use those below. */
extern void memtop_heap_alloc(struct memtop_heap *heap, const void *p, size_t size)
	__attribute__((weak));
extern void memtop_heap_free(struct memtop_heap *heap, const void *p) __attribute__((weak));
extern void memtop_heap_realloc(struct memtop_heap *heap, const void *old, const void *p,
				size_t size) __attribute__((weak));
extern void memtop_heap_reset(struct memtop_heap *heap, const void *start, size_t size)
	__attribute__((weak));
extern void memtop_heap_backing(struct memtop_heap *heap, const void *p) __attribute__((weak));
#define MEMTOP_INLINE static inline __attribute__((always_inline, unused))

/* A new block of `size` bytes; 0 is valid. The agent reports one of 2^48 and more as lost. NULL:
 * the allocation failed, nothing happens. */
MEMTOP_INLINE void memtop_report_alloc(struct memtop_heap *heap, const void *p, size_t size)
{
	if (memtop_heap_alloc)
		memtop_heap_alloc(heap, p, size);
}

/* NULL: nothing happens. */
MEMTOP_INLINE void memtop_report_free(struct memtop_heap *heap, const void *p)
{
	if (memtop_heap_free)
		memtop_heap_free(heap, p);
}

/* One free of `old` (NULL: none) and one block at `p` (NULL: none), at the caller's stack, in place
 * or not. */
MEMTOP_INLINE void memtop_report_realloc(struct memtop_heap *heap, const void *old, const void *p,
					 size_t size)
{
	if (memtop_heap_realloc)
		memtop_heap_realloc(heap, old, p, size);
}

/* Resets an arena: frees all of the heap's blocks that begin in [start, start + size). Slow: one
 * step for each 16 bytes. */
MEMTOP_INLINE void memtop_report_reset(struct memtop_heap *heap, const void *start, size_t size)
{
	if (memtop_heap_reset)
		memtop_heap_reset(heap, start, size);
}

/*
 * The block at p, from malloc or another named heap, backs this heap and stops counting. Free it as
 * usual: the agent ignores that free. After a realloc it counts again until the next call.
 */
MEMTOP_INLINE void memtop_report_backing(struct memtop_heap *heap, const void *p)
{
	if (memtop_heap_backing)
		memtop_heap_backing(heap, p);
}

/*
 * Starts a session in a running process, after dlopen has loaded the agent. `memtop attach PID`
 * calls this in the process; a program may load the agent and call it by itself (dlsym(handle,
 * "memtop_attach")). options: as in MEMTOP_OPTIONS, or NULL. Once it has returned 0, the agent
 * listens and counts every allocation of all threads and modules. Prints nothing. One thread at a
 * time; never from a signal handler. After a detach it may be called again: a new session, with
 * counters of 0. Where a session runs and its server was killed, it starts another one and returns
 * MEMTOP_ATTACH_AGAIN: counters and options stay those of the session, marks and the graph of the
 * past are lost. That also holds for an agent that was there from the start.
 */
enum memtop_attach_result {
	MEMTOP_ATTACH_AGAIN = 1,
	MEMTOP_ATTACH_ALREADY = -1, /* a session runs */
	/* the agent was there from the start (LD_PRELOAD, or linked) */
	MEMTOP_ATTACH_PRELOADED = -2,
	MEMTOP_ATTACH_OPTIONS = -3, /* an unknown or malformed option */
	/* the program has a malloc of its own linked in, or is static */
	MEMTOP_ATTACH_ALLOCATOR = -4,
	/* no address space for the live map, or no page can be made writable */
	MEMTOP_ATTACH_MEMORY = -5,
	/* the server could not start, or nobody can reach it (listen=) */
	MEMTOP_ATTACH_SERVER = -6,
	MEMTOP_ATTACH_LEAVING = -7, /* the last session is just being ended: try again */
	MEMTOP_ATTACH_SETUID = -8,  /* the program runs with more rights than its user has */
};
extern int memtop_attach(const char *options) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
