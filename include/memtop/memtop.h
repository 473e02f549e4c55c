/* SPDX-License-Identifier: MIT
 *
 * memtop.h - what a program may tell the agent that watches it.
 *
 * The symbols are weak: a program that is not watched pays one test of a pointer, and needs
 * neither memtop nor a library to link or to run.
 *
 *     memtop_set_mark("after login");
 *
 * and, of an allocator that is not malloc:
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
 * Sets a mark, as `s` in the view does: what is allocated from now on can be told from what was
 * there before. name: up to 64 bytes of text, or NULL. The mark's number, 0 when not watched or
 * when there are no more marks. Waits a moment for the agent; not for signal handlers.
 */
static inline unsigned memtop_set_mark(const char *name)
{
	return memtop_mark ? memtop_mark(name) : 0;
}

/*
 * The agent's last reason why nobody can watch this process, as a line; "" while it has none. Any
 * thread may read it; `memtop -p PID` and `memtop attach PID` do, in the process' memory. A weak
 * symbol: test its address first.
 */
extern char memtop_said[512] __attribute__((weak));

/*
 * The stack of the caller as the agent sees it, as backtrace(3) gives it: return addresses,
 * innermost first, frames[0] lies in the caller itself. At most `max`; returns how many, 0 when not
 * watched. Under unwind=instrument it is read off the list of functions that the thread is inside
 * of, under any other engine it is a walk by unwind tables. Allocates nothing, takes no lock, and
 * may be called from signal handlers, but for a thread's very first use of the agent, which maps
 * memory. A weak symbol: test it before the call.
 *
 *     int n = memtop_backtrace ? memtop_backtrace(frames, 64) : 0;
 */
extern int memtop_backtrace(void **frames, int max) __attribute__((weak));

/*
 * NAMED HEAPS. Blocks of an allocator of the program's own (a pool, an arena, a slab, memory of a
 * GPU) count as malloc's do: in the totals, at the stack that reports them, with age, thread,
 * marks, filters and sampling. The heap is the innermost frame of that stack and the owner of the
 * block, "heap:NAME": a line of its own in the Libs view, in reports, and what libs= and exclude=
 * go by. Heaps of one name are one heap; 1,024 names of up to 64 bytes.
 *
 * A block is known by its heap and address. Any value but NULL will do, at any distance from the
 * next: an address, a handle. An address that is reported again without a free between counts as
 * freed unseen, and a free of an unknown one as a free from before the agent; both are counted and
 * told.
 *
 * NOT TWICE. Where the heap cuts its blocks from memory that counts already (malloc's, or another
 * named heap's), it says so with memtop_report_backing(): that block stops counting, as if it were
 * freed then. Memory from mmap does not count.
 *
 * Any thread, and signal handlers (but for a thread's very first use of the agent); errno is kept;
 * no lock is taken. Order as in an allocator: report an alloc before another thread can see the
 * block, a free before the address can be given out again, a realloc before the old one can.
 *
 * Costs one test of a pointer while not watched. In a process that is attached to, the pointer is
 * set then, where it can be (code that is position-independent, the default of most compilers), and
 * blocks from before are unknown.
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

/* A block of `size` bytes (0 is one, too). NULL: the allocation failed, nothing happens. */
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

/* An arena is reset: all of the heap's blocks that begin in [start, start + size) are freed. Takes
 * its time: 16 bytes a step. */
MEMTOP_INLINE void memtop_report_reset(struct memtop_heap *heap, const void *start, size_t size)
{
	if (memtop_heap_reset)
		memtop_heap_reset(heap, start, size);
}

/*
 * The heap takes its blocks from the block at p, which malloc or another named heap gave out: it
 * stops counting. It is freed there as any other, which then is no news; after a realloc it counts
 * again until this is said again.
 */
MEMTOP_INLINE void memtop_report_backing(struct memtop_heap *heap, const void *p)
{
	if (memtop_heap_backing)
		memtop_heap_backing(heap, p);
}

/*
 * Starts a session in a process that runs already. The agent was loaded by a dlopen and has done
 * nothing so far: `memtop attach PID` calls this in the process; a program may load the agent and
 * call it by itself (dlsym(handle, "memtop_attach")). options: as in MEMTOP_OPTIONS, or NULL. From
 * the return of 0 on every allocation is counted, by whatever thread and module, and the agent
 * listens. Prints nothing. One thread at a time; never from a signal handler. After the viewer took
 * the agent out it may be called again: a new session, with fresh counters.
 */
enum memtop_attach_error {
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
