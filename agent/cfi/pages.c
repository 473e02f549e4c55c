/* SPDX-License-Identifier: MIT
 *
 * pages.c - takes the pages of unwind tables out of the process again, once they have been read.
 *
 * A pc's rule is read from its file's table once, and kept with the code location. But each read
 * maps the pages around it, 64 KiB at a time: of a compiler's library 10 MB, which are then part of
 * the process's resident memory for good. So the server takes them out whenever rules have been
 * read. The kernel's cache keeps them: the next read of one is a minor fault, no access to a disk.
 *
 * Only a page of a file goes, and a private copy of one never: the page table says which they are
 * (bit 61 of pagemap), just before they go. Where that is not known nothing is done. A page that
 * the program reads itself, when it throws, comes back in the same way. A locked page stays.
 */
#include "cfi/pages.h"
#include "base/prim_linux.h"
#include "cfi/cfi.h"
#include "cfi/table.h"
#include "modules/segments.h"

#include <memtop/wire.h>
#include <sys/syscall.h>

#define DONTNEED 4         /* MADV_DONTNEED: of a file's page, only the mapping goes */
#define WORTH_PAGES 16     /* fewer are left alone */
#define PAGES_AT_ONCE 4096 /* looked at in one call */

/* Its tables, looked at once, for to read them brings pages in. */
static void find_tables(struct module *m)
{
	uintptr_t page = mt_prim_page_bytes();

	if (!m->tables_to && !mt_cfi_extent(m, &m->tables_from, &m->tables_to))
		m->tables_from = m->tables_to = page;
}

static size_t drop(uintptr_t start, size_t pages, const unsigned char *is)
{
	size_t page = mt_prim_page_bytes(), begin = 0, dropped = 0;

	for (size_t i = 0; i <= pages; i++) {
		if (i < pages && is[i] & PAGE_OF_FILE)
			continue;
		if (i > begin && mt_prim_call(SYS_madvise, (long)(start + begin * page),
					      (long)((i - begin) * page), DONTNEED, 0, 0, 0) == 0)
			dropped += i - begin;
		begin = i + 1;
	}
	return dropped;
}

static size_t look(uintptr_t start, size_t pages)
{
	static unsigned char is[PAGES_AT_ONCE];
	size_t found = 0;

	if (!mt_prim_touched(start, pages, is))
		return 0;
	for (size_t i = 0; i < pages; i++)
		found += !!(is[i] & PAGE_OF_FILE);
	return found >= WORTH_PAGES ? drop(start, pages, is) : 0;
}

size_t mt_cfi_give_back(struct module *m)
{
	size_t page = mt_prim_page_bytes(), dropped = 0;

	find_tables(m);
	uintptr_t at = (m->tables_from + page - 1) & ~(page - 1), to = m->tables_to & ~(page - 1);
	while (at < to) {
		size_t pages = (to - at) / page;
		pages = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;
		dropped += look(at, pages);
		at += pages * page;
	}
	return dropped;
}
