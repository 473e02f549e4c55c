/* SPDX-License-Identifier: MIT
 *
 * memtop.h - what a program may tell the agent that watches it.
 *
 * The symbols are weak: a program that is not watched pays one test of a pointer, and needs
 * neither memtop nor a library to link or to run.
 *
 *     memtop_set_mark("after login");
 */
#ifndef MEMTOP_MEMTOP_H
#define MEMTOP_MEMTOP_H

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
 * The stack of the caller as the agent sees it, as backtrace(3) gives it: return addresses, innermost
 * first, frames[0] lies in the caller itself. At most `max`; returns how many, 0 when not watched.
 * Under unwind=instrument it is read off the list of functions that the thread is inside of, under
 * any other engine it is a walk by unwind tables (frame pointers on AArch64). Allocates nothing, takes no
 * lock, and may be called from signal handlers, but for a thread's very first use of the agent, which
 * maps memory. A weak symbol: test it before the call.
 *
 *     int n = memtop_backtrace ? memtop_backtrace(frames, 64) : 0;
 */
extern int memtop_backtrace(void **frames, int max) __attribute__((weak));

/*
 * Starts a session in a process that runs already. The agent was loaded by a dlopen and has done nothing so far:
 * `memtop attach PID` calls this in the process; a program may load the agent and call it by itself
 * (dlsym(handle, "memtop_attach")). options: as in MEMTOP_OPTIONS, or NULL. From the return of 0 on every
 * allocation is counted, by whatever thread and module, and the agent listens. Prints nothing. One thread at a
 * time; never from a signal handler. After the viewer took the agent out it may be called again: a new
 * session, with fresh counters.
 */
enum memtop_attach_error {
	MEMTOP_ATTACH_ALREADY = -1,   /* a session runs */
	MEMTOP_ATTACH_PRELOADED = -2, /* the agent was there from the start (LD_PRELOAD, or linked) */
	MEMTOP_ATTACH_OPTIONS = -3,   /* an unknown or malformed option */
	MEMTOP_ATTACH_ALLOCATOR = -4, /* the program has a malloc of its own linked in, or is static */
	MEMTOP_ATTACH_MEMORY = -5,    /* no address space for the live map, or no page can be made writable */
	MEMTOP_ATTACH_SERVER = -6,    /* the server could not start, or nobody can reach it (listen=) */
	MEMTOP_ATTACH_LEAVING = -7,   /* the last session is just being ended: try again */
	MEMTOP_ATTACH_SETUID = -8,    /* the program runs with more rights than its user has */
};
extern int memtop_attach(const char *options) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
