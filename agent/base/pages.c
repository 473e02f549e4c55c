/* SPDX-License-Identifier: MIT
 *
 * pages.c - which pages of a range are there, as the kernel tells it. Opens a file, so for the
 * server alone.
 */
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/types.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static bool failed(long ret)
{
	return (unsigned long)ret >= (unsigned long)-4095L;
}

enum pagemap { PAGEMAP_UNKNOWN = 0, PAGEMAP_WHOLE, PAGEMAP_THERE, PAGEMAP_FALSE };

static uint64_t page_word(long fd, const void *p)
{
	uint64_t word = 0;

	mt_prim_read_at(fd, &word, 8, (uint64_t)((uintptr_t)p / mt_prim_page_bytes()) * 8);
	return word;
}

/* Tests whether pagemap can be trusted, on a page just written and then on the same page given
 * back: an emulator (qemu-user) shows the host's pagemap, where other addresses hold. Before 4.2
 * pagemap does not say which pages are mapped once. */
static enum pagemap pagemap_kind(long fd)
{
	static _Atomic int xkind; /* enum pagemap, learnt at the first question */
	int kind = atomic_load_explicit(&xkind, memory_order_relaxed);
	size_t page = mt_prim_page_bytes();

	if (kind != PAGEMAP_UNKNOWN)
		return kind;
	char *p = mt_prim_map(page, false);
	if (!p)
		return PAGEMAP_WHOLE;
	*(volatile char *)p = 1;
	uint64_t word = page_word(fd, p);
	/* it fails on locked pages */
	bool gone =
		failed(mt_prim_call(SYS_madvise, (long)p, (long)page, MADV_DONTNEED, 0, 0, 0)) ||
		!(page_word(fd, p) >> 62);
	mt_prim_unmap(p, page);
	kind = !(word >> 62) || !gone ? PAGEMAP_FALSE
	       : word >> 56 & 1       ? PAGEMAP_WHOLE
				      : PAGEMAP_THERE;
	atomic_store_explicit(&xkind, kind, memory_order_relaxed);
	return kind;
}

/* Counts pages in memory, which an emulator does report for its own addresses. Swapped pages are
 * left out. */
static bool in_memory(uintptr_t start, size_t pages, unsigned char *touched)
{
	if (failed(mt_prim_call(SYS_mincore, (long)start, (long)(pages * mt_prim_page_bytes()),
				(long)touched, 0, 0, 0)))
		return false;
	for (size_t i = 0; i < pages; i++)
		touched[i] = touched[i] & 1 ? PAGE_THERE | PAGE_ALONE : 0;
	return true;
}

/* Documentation/admin-guide/mm/pagemap.rst: a word a page; bit 63 = in memory, 62 = swapped, 61 = a
 * file's, 56 = mapped once. Where the kernel does not report bit 56 (`unsaid`), every present page
 * counts as mapped once. */
static unsigned char page_kind(uint64_t word, uint64_t unsaid)
{
	if (!(word >> 62))
		return 0;
	return (unsigned char)(PAGE_THERE | ((word | unsaid) >> 56 & 1 ? PAGE_ALONE : 0) |
			       (word >> 61 == 5 ? PAGE_OF_FILE : 0));
}

enum touched mt_prim_touched(uintptr_t start, size_t pages, unsigned char *touched)
{
	long fd = mt_prim_call(SYS_openat, AT_FDCWD, (long)"/proc/self/pagemap",
			       O_RDONLY | O_CLOEXEC, 0, 0, 0);
	uint64_t words[128], first = start / mt_prim_page_bytes(), unsaid;
	size_t done = 0;

	if (fd < 0)
		return TOUCHED_UNKNOWN;
	enum pagemap kind = pagemap_kind(fd);
	unsaid = kind == PAGEMAP_WHOLE ? 0 : (uint64_t)1 << 56;
	while (kind != PAGEMAP_FALSE && done < pages) {
		size_t some = pages - done < 128 ? pages - done : 128;
		long got = mt_prim_read_at(fd, words, some * 8, (first + done) * 8);
		if (got < (long)(some * 8))
			break;
		for (size_t i = 0; i < some; i++)
			touched[done + i] = page_kind(words[i], unsaid);
		done += some;
	}
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (kind == PAGEMAP_FALSE)
		return in_memory(start, pages, touched) ? TOUCHED_IN_MEMORY : TOUCHED_UNKNOWN;
	return done == pages ? TOUCHED_ALL : TOUCHED_UNKNOWN;
}
