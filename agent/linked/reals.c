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
#include "modules/names.h"
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

/* The rows of modules/names.h, by how they are linked. Addresses: types are the business of who
 * calls them. */
#define DECLARE_HOOK(weak, name)                                                                   \
	extern char __real_##name[] weak;                                                          \
	extern char __wrap_##name[];
#define DECLARE_JEMALLOC DECLARE_HOOK
#define DECLARE_REAL(weak, name) extern char __real_##name[] weak;
#define DECLARE_NONE(weak, name) extern char plain_##name[] __asm__(#name) weak;
#define DECLARE_WRAP(weak, name)
#define DECLARE_LEFT(weak, name)
#define DECLARE_OPERATOR(weak, name)
#define DECLARE(linked, weak, name, ...) DECLARE_##linked(weak, name)
HOOKED(DECLARE)
CALLED_NAMES(DECLARE)
JEMALLOC_CALLED_NAMES(DECLARE)

#define ENTRY_HOOK(name) { #name, __real_##name, __wrap_##name },
#define ENTRY_JEMALLOC ENTRY_HOOK
#define ENTRY_REAL(name) { #name, __real_##name, NULL },
#define ENTRY_NONE(name) { #name, plain_##name, NULL },
#define ENTRY_WRAP(name)
#define ENTRY_LEFT(name)
#define ENTRY_OPERATOR(name) /* in reals_cxx.c */
#define ENTRY(linked, weak, name, ...) ENTRY_##linked(name)
/* clang-format off */
const struct rebind mt_linked[] = {
	HOOKED(ENTRY) CALLED_NAMES(ENTRY) JEMALLOC_CALLED_NAMES(ENTRY) { NULL, NULL, NULL },
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
