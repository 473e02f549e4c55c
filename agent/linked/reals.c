/* SPDX-License-Identifier: MIT
 *
 * reals.c - the functions behind the hooks, where the linker's --wrap put the hooks in front of
 * them.
 *
 * It serves programs in which no definition of the agent can come first: static ones (libc's own
 * malloc has that one name there) and those with an allocator linked in. `ld --wrap=malloc`
 * redirects every reference to malloc to __wrap_malloc, which is the hook under that name
 * (Makefile), and every reference to __real_malloc to the real malloc. The linker does it all, so
 * nothing has to be looked up. But a dynamic program's libraries get malloc from the loader, which
 * finds the allocator's. So before any other code of the program runs (.preinit_array) the agent
 * writes its hooks into their slots and into the program's symbol table.
 *
 * A weak reference adds nothing to the program, least of all a second malloc. A strong one adds its
 * function, because the program's own reference now names the hook.
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

/* libc's malloc comes in one piece with the functions that are weak here, except in musl. */
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
	X(fork, ) X(daemon, ) X(prctl, ) X(unshare, ) X(pthread_setname_np, )                      \
	X(execvpe, ) X(fexecve, )                                                                  \
	X(poll, ) X(ppoll, ) X(epoll_wait, ) X(epoll_pwait, ) X(select, ) X(pselect, )             \
	X(sleep, ) X(usleep, ) X(nanosleep, ) X(clock_nanosleep, ) X(sigsuspend, ) X(sigwait, )    \
	X(accept, ) X(accept4, ) X(read, ) X(recv, ) X(recvfrom, ) X(recvmsg, ) X(pause, )         \
	X(wait, ) X(waitpid, ) X(wait3, WEAK) X(wait4, ) X(waitid, )
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
