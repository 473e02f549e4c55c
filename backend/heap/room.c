/* SPDX-License-Identifier: MIT */
#include "heap/room.h"

#include "base/base.h"

#include <sys/mman.h>

#define HUGE (2ul << 20) /* a page */

static void *in_large_pages(void *p, size_t bytes)
{
	uintptr_t first = ((uintptr_t)p + HUGE - 1) / HUGE * HUGE,
		  end = ((uintptr_t)p + bytes) / HUGE * HUGE;

#ifdef MADV_HUGEPAGE
	if (first < end)
		madvise((void *)first, end - first, MADV_HUGEPAGE); /* or not */
#endif
	return p;
}

void *room_take(size_t bytes)
{
	return in_large_pages(xmalloc(bytes), bytes);
}

void *room_large(size_t count, size_t size)
{
	return in_large_pages(xcalloc(count, size), count * size);
}
