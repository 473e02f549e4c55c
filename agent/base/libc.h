/* SPDX-License-Identifier: MIT
 *
 * libc.h - what the agent uses of the C library.
 *
 * The loader would bind a call of getauxval() to whatever getauxval comes first: the program's or a
 * library's own function of that name. So libmemtop-agent.so leaves nothing to the loader:
 *
 *   memcpy, strlen ...  its own: base/string.c
 *   LIBC_CALLS          called by their names, which are jumps of the agent's own (loaded/calls.c)
 *                       to the C library's definition, found in that library's symbol table
 *                       (loaded/find.c)
 *   LIBC_ASKED          only through LIBC(name): a function that not every C library has, an
 *                       address, a variable. NULL where there is none
 *
 * Nothing is found by version, so one build serves all versions of a C library. In an agent that is
 * linked in, the linker has bound all names (linked/libc.c). After the first use, which precedes
 * the program's first thread, nothing is looked up.
 */
#ifndef MT_BASE_LIBC_H
#define MT_BASE_LIBC_H

#include "base/compiler.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

/* X(name, what answers where the C library has none) */
/* clang-format off */
#define LIBC_CALLS_ALL(X)                                                                          \
	X(clock_gettime, minus_one) X(clone, minus_one) X(dl_iterate_phdr, zero)                   \
	X(getauxval, zero) X(pthread_getcpuclockid, minus_one) X(pthread_self, thread_pointer)     \
	X(sigaction, minus_one)
#if defined(__BIONIC__)
#define LIBC_CALLS(X)                                                                              \
	LIBC_CALLS_ALL(X) X(__errno, nobody) X(getprogname, zero) X(pthread_getspecific, zero)     \
	X(pthread_key_create, minus_one) X(pthread_setspecific, minus_one)
#else
/* states of ended threads are then not used again: base/self.c */
#define LIBC_CALLS_UNIX(X)                                                                         \
	LIBC_CALLS_ALL(X) X(__errno_location, nobody) X(pthread_mutex_init, zero)                  \
	X(pthread_mutex_trylock, minus_one) X(pthread_mutex_consistent, minus_one)                 \
	X(pthread_mutexattr_init, zero) X(pthread_mutexattr_setrobust, zero)                       \
	X(pthread_mutexattr_destroy, zero)
#if defined(__GLIBC__)
#if defined(__aarch64__)
#define LIBC_CALLS_GCC(X) X(__getauxval, zero) /* libgcc's */
#elif defined(__arm__)
#define LIBC_CALLS_GCC(X) X(__gnu_Unwind_Find_exidx, zero) X(raise, minus_one)
#else
#define LIBC_CALLS_GCC(X)
#endif
#define LIBC_CALLS(X)                                                                              \
	LIBC_CALLS_UNIX(X) LIBC_CALLS_GCC(X) X(__cxa_at_quick_exit, minus_one)                     \
	X(__register_atfork, minus_one) X(on_exit, minus_one) X(__sigsetjmp, zero)                 \
	X(__pthread_register_cancel, zero) X(__pthread_unregister_cancel, zero)                    \
	X(__pthread_unwind_next, zero)
#else
#define LIBC_CALLS(X)                                                                              \
	LIBC_CALLS_UNIX(X) X(atexit, minus_one) X(at_quick_exit, minus_one)                        \
	X(pthread_atfork, minus_one) X(_pthread_cleanup_push, zero) X(_pthread_cleanup_pop, zero)
#endif
#endif

/* X(name) */
#define LIBC_ASKED(X)                                                                              \
	X(clone) X(dlopen) X(dlclose) X(dlsym) X(dlerror) X(_Fork) X(makecontext) X(exit)          \
	X(pthread_exit) X(__libc_start_main) X(_dl_find_object) X(__register_atfork)
/* Variables: those that the C library itself uses, also where a program has a copy of them. */
#define LIBC_VARIABLES(X)                                                                          \
	X(environ) X(__libc_single_threaded) X(__libc_stack_end) X(program_invocation_short_name)
/* clang-format on */

/* Not every system's headers declare them. */
extern pid_t _Fork(void);
extern int __libc_start_main(int (*)(int, char **, char **), int, char **, ...);
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
extern char __libc_single_threaded;
extern void *__libc_stack_end;

#pragma GCC visibility push(hidden)

extern _Atomic bool mt_libc_found;
void mt_libc_find(void); /* idempotent */

#define DECLARE(name) extern void *mt_libc_##name;
LIBC_ASKED(DECLARE)
LIBC_VARIABLES(DECLARE)
#undef DECLARE

static inline void *mt_libc_ask(void **of)
{
	if (unlikely(!atomic_load_explicit(&mt_libc_found, memory_order_acquire)))
		mt_libc_find();
	return *of;
}
#define LIBC(name) ((__typeof__(&name))mt_libc_ask(&mt_libc_##name))
#define ENVIRON (*LIBC(environ))

/* The C library's own definition of a function; NULL: it has none, or it cannot be told apart (an
 * agent that is linked in). */
void *mt_libc_own(const char *name);
/* Is that function somebody else's, who stands between the agent and the C library? false for NULL
 */
bool mt_libc_foreign(const char *name, const void *f);

#pragma GCC visibility pop

#endif
