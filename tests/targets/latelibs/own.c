/* SPDX-License-Identifier: MIT
 *
 * own.c - a library with its own allocator, which never frees memory.
 */
#include <stddef.h>

static _Alignas(16) char arena[1 << 16];
static size_t used;

void *malloc(size_t n)
{
	size_t at = used;

	used += (n + 15) & ~(size_t)15;
	return used <= sizeof(arena) ? arena + at : NULL;
}

void free(void *p)
{
	(void)p;
}

/* Through its own slots. */
void late_work(void *unused, int events)
{
	(void)unused;
	free(malloc((size_t)events));
}

void late_drop(void *unused, int unused_too)
{
	(void)unused;
	(void)unused_too;
}
