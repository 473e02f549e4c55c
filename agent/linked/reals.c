/* SPDX-License-Identifier: MIT
 *
 * reals.c - the functions behind the hooks, where the linker's --wrap put the hooks in front of
 * them.
 *
 * For programs in which no definition of ours can come first: static ones (the libc's own malloc is
 * there under its one name) and those with an allocator linked in. `ld --wrap=malloc` leads every
 * reference to malloc to __wrap_malloc, which is our hook under that name (Makefile), and
 * __real_malloc to whatever malloc there is. All of it is done when the program is linked, so
 * nothing has to be looked up; but a dynamic program's libraries ask for malloc by the loader,
 * which finds the allocator's. In their slots, and in the program's symbol table, our hooks are put
 * before any other code of the program runs (.preinit_array).
 *
 * Weak ones bring nothing into the program that is not there: a second malloc least of all. What is
 * not weak is brought in, for the program's own reference to it is one to the hook.
 */
#include "base/types.h"
#include "hooks/jemalloc.h"
#include "hooks/malloc.h"
#include "modules/hook_list.h"
#include "modules/linked.h"
#include "modules/rebind.h"

#define WEAK __attribute__((weak))

#ifdef __GLIBC__
static void begin(void);
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = begin;
#define BEFORE_ALL
#else /* musl passes over that section */
#define BEFORE_ALL __attribute__((constructor(101)))
#endif

/* The libc's malloc comes in one piece with what is weak here, but musl's. */
#ifdef __GLIBC__
#define LIBC_WEAK WEAK
#else
#define LIBC_WEAK
#endif

/* X(name, attribute) */
/* clang-format off */
#define ALLOCATION(X)                                                                              \
	X(malloc, ) X(free, ) X(calloc, ) X(realloc, ) X(aligned_alloc, LIBC_WEAK)                 \
	X(posix_memalign, LIBC_WEAK) X(memalign, LIBC_WEAK) X(valloc, WEAK) X(pvalloc, WEAK)       \
	X(malloc_usable_size, LIBC_WEAK)
#define JEMALLOC(X)                                                                                \
	X(mallocx, WEAK) X(rallocx, WEAK) X(xallocx, WEAK) X(dallocx, WEAK) X(sdallocx, WEAK)
#define PROCESS(X)                                                                                 \
	X(fork, ) X(daemon, ) X(prctl, ) X(pthread_setname_np, ) X(execvpe, ) X(fexecve, )         \
	X(poll, ) X(ppoll, ) X(epoll_wait, ) X(epoll_pwait, ) X(select, ) X(pselect, ) X(sleep, )  \
	X(usleep, )                                                                                \
	X(nanosleep, ) X(clock_nanosleep, ) X(sigsuspend, ) X(sigwait, ) X(accept, ) X(accept4, )  \
	X(read, ) X(recv, ) X(recvfrom, ) X(recvmsg, ) X(waitpid, ) X(pause, )
/* clang-format on */

/* Addresses: types are the business of who calls them. */
#define DECLARE_REAL(name, attribute) extern char __real_##name[] attribute;
ALLOCATION(DECLARE_REAL)
JEMALLOC(DECLARE_REAL)
PROCESS(DECLARE_REAL)
#define DECLARE_HOOK(name, attribute) extern char __wrap_##name[];
ALLOCATION(DECLARE_HOOK)
JEMALLOC(DECLARE_HOOK)
/* Not wrapped. */
extern char sigtimedwait[];
extern char nallocx[] WEAK;

#define REAL(name, attribute) { #name, __real_##name, NULL },
/* clang-format off */
#define BOTH(name, attribute) { #name, __real_##name, __wrap_##name },
const struct rebind mt_linked[] = {
	ALLOCATION(BOTH) JEMALLOC(BOTH) PROCESS(REAL)
	{ "sigtimedwait", sigtimedwait, NULL }, { "nallocx", nallocx, NULL }, { NULL, NULL, NULL },
};
/* clang-format on */

static size_t add(struct rebind *list, size_t count, const struct rebind *from)
{
	for (; from && from->name; from++)
		if (from->real && from->hook && count < HOOKS_MAX)
			list[count++] = *from;
	return count;
}

BEFORE_ALL static void begin(void)
{
	struct rebind list[HOOKS_MAX];

	/* called by their names, whether or not anything is counted */
	mt_hooks_jemalloc_init(list);
	mt_rebind(list, add(list, add(list, 0, mt_linked), mt_linked_cxx));
}
