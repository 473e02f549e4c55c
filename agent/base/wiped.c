/* SPDX-License-Identifier: MIT
 *
 * wiped.c - memory that reads 0 in a forked child, so that a child recognises itself.
 *
 * The kernel clears the memory (MADV_WIPEONFORK, Linux 4.14), whatever call made the child. On
 * older kernels, which many devices with Android 8 to 10 run, the agent clears it:
 *
 *   fork()          a handler of pthread_atfork() clears it, also for forkpty() and daemon(); where
 *                   there is no such handler, the agent's hook of fork() does.
 *   clone, _Fork()  run no handler. Their children lack one page, which the kernel leaves out of
 *                   every fork (MADV_DONTFORK): madvise() on it fails with ENOMEM. mt_wiped_look()
 *                   makes that test where a gate is closed and every thousand events or so
 *                   (record/slots.c). Until then such a child counts in its own copy of all memory,
 *                   which has no reader; one that ends before the test never becomes a session.
 *
 * Process numbers would not do: a child of vfork or CLONE_VM has another number but works in the
 * parent's memory, and clearing that would end the parent's session. Such a child has the page.
 */
#include "base/wiped.h"
#include "base/libc.h"
#include "base/prim_linux.h"
#include "base/types.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define AREAS 4

bool mt_wiped_by_hand;

static struct area {
	void *start;
	size_t bytes;
} areas[AREAS];
static size_t area_count;
/* page that a forked child lacks; NULL = none, or a thread looks at it */
static void *_Atomic xabsent;

static long advise(void *p, size_t bytes, int advice)
{
	return mt_prim_call(SYS_madvise, (long)p, (long)bytes, advice, 0, 0, 0);
}

static void map_absent(void)
{
	size_t page = mt_prim_page_bytes();
	void *p = mt_prim_map(page, false);

	if (p && advise(p, page, MADV_DONTFORK)) {
		mt_prim_unmap(p, page);
		p = NULL;
	}
	atomic_store_explicit(&xabsent, p, memory_order_release);
}

static void in_child(void)
{
	for (size_t i = 0; i < area_count; i++)
		mt_prim_drop(areas[i].start, areas[i].bytes);
	map_absent();
}

/* One thread at a time: a second look at the same page would clear the events that the child
 * recorded after the first look. */
void mt_wiped_look(void)
{
	void *p = atomic_exchange_explicit(&xabsent, NULL, memory_order_acquire);

	if (p && advise(p, mt_prim_page_bytes(), MADV_NORMAL) == -ENOMEM)
		in_child();
	else if (p)
		atomic_store_explicit(&xabsent, p, memory_order_release);
}

#ifdef __BIONIC__
/* Each program and library has its own copy of pthread_atfork(), which calls this; API level 23. */
static void tell_child(void)
{
	if (LIBC(__register_atfork))
		LIBC(__register_atfork)(NULL, NULL, in_child, NULL);
}
#else
static void tell_child(void)
{
	pthread_atfork(NULL, NULL, in_child);
}
#endif

void *mt_wiped_map(size_t bytes)
{
	void *p = mt_prim_map(bytes, false);

	if (!p || !advise(p, bytes, MADV_WIPEONFORK))
		return p;
	if (area_count == AREAS) {
		mt_prim_unmap(p, bytes);
		return NULL;
	}
	areas[area_count++] = (struct area){ p, bytes };
	if (!mt_wiped_by_hand) {
		mt_wiped_by_hand = true;
		map_absent();
		tell_child();
	}
	return p;
}
