/* SPDX-License-Identifier: MIT
 *
 * test_pages.c - the pages of libc's unwind table: they go and come back as they were; a private
 * copy stays.
 */
#include "check.h"
#include "base/prim_linux.h"
#include "base/types.h"
#include "cfi/cfi.h"
#include "cfi/pages.h"
#include "cfi/table.h"
#include "modules/maps.h"

#include <stdlib.h>
#include <sys/mman.h>

#if CFI_TABLES

static uintptr_t from, to;

static struct module *libc_module(void)
{
	mt_maps_init();
	struct module *m = mt_maps_find((uintptr_t)&qsort);

	CHECK(m && mt_cfi_extent(m, &from, &to));
	CHECK(to - from > 64 * 1024);
	from = (from + mt_prim_page_bytes() - 1) & ~(mt_prim_page_bytes() - 1);
	to &= ~(mt_prim_page_bytes() - 1);
	return m;
}

static uint32_t sum(void)
{
	uint32_t all = 0;

	for (const volatile uint32_t *word = (const uint32_t *)from; (uintptr_t)word < to; word++)
		all = all * 31 + *word;
	return all;
}

static size_t there(unsigned char kind)
{
	static unsigned char is[4096];
	size_t pages = (to - from) / mt_prim_page_bytes(), found = 0;

	CHECK(pages <= sizeof(is) && mt_prim_touched(from, pages, is));
	for (size_t i = 0; i < pages; i++)
		found += !!(is[i] & kind);
	return found;
}

TEST(read_pages_go)
{
	struct module *m = libc_module();
	size_t pages = (to - from) / mt_prim_page_bytes();

	uint32_t before = sum();
	if (there(PAGE_OF_FILE) != pages)
		return; /* an emulator's pagemap: nobody knows what pages are */
	CHECK_EQ(mt_cfi_give_back(m), pages);
	CHECK_EQ(there(PAGE_THERE), 0);
	CHECK_EQ(mt_cfi_give_back(m), 0);
	CHECK_EQ(sum(), before);
	CHECK_EQ(there(PAGE_OF_FILE), pages);
}

TEST(a_changed_page_stays)
{
	struct module *m = libc_module();
	size_t page = mt_prim_page_bytes(), pages = (to - from) / page;
	uintptr_t middle = from + pages / 2 * page;

	sum();
	if (there(PAGE_OF_FILE) != pages)
		return;
	CHECK(!mprotect((void *)middle, page, PROT_READ | PROT_WRITE));
	*(volatile uint32_t *)middle += 1; /* FDEs of code that this test does not unwind */
	uint32_t changed = sum();
	CHECK_EQ(there(PAGE_OF_FILE), pages - 1);
	CHECK_EQ(mt_cfi_give_back(m), pages - 1);
	CHECK_EQ(there(PAGE_THERE), 1);
	CHECK_EQ(sum(), changed);
	*(volatile uint32_t *)middle -= 1;
	CHECK(!mprotect((void *)middle, page, PROT_READ));
}

#else

TEST(nothing_on_other_machines) {}

#endif
