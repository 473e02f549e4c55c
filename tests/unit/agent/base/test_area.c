/* SPDX-License-Identifier: MIT
 *
 * test_area.c - the agent's mappings lie apart from others, and spare what is in their way.
 */
#include "check.h"
#include "base/prim_linux.h"
#include "base/stretch.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)
#define MANY 200

static char *others(void *at, size_t bytes)
{
	return mmap(at, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static bool is_mapped(uintptr_t at)
{
	unsigned char there;

	return !mincore((void *)at, PAGE, &there);
}

TEST(mappings_lie_side_by_side_and_far_from_the_programs)
{
	char *last = mt_prim_map(PAGE, false), *theirs = others(NULL, PAGE);

	for (int i = 0; i < MANY; i++) {
		char *p = mt_prim_map(PAGE, i % 2);
		CHECK(p == last - PAGE);
		last = p;
		CHECK((uintptr_t)theirs - (uintptr_t)p > (uintptr_t)1 << 40);
	}
	CHECK(others(NULL, PAGE) == theirs - PAGE); /* as if we had mapped nothing */
}

TEST(what_is_in_the_way_stays)
{
	char *p = mt_prim_map(PAGE, false), *theirs = others(p - 2 * PAGE, PAGE);

	memset(theirs, 7, PAGE);
	CHECK(mt_prim_map(PAGE, false) == p - PAGE);
	char *past = mt_prim_map(PAGE, false);
	CHECK(past && past < theirs);
	CHECK(mt_prim_map(PAGE, false) == past - PAGE);
	CHECK(theirs[0] == 7 && theirs[PAGE - 1] == 7);
}

TEST(large_pages_are_aligned)
{
	char *p = mt_prim_map_large(PRIM_LARGE);

	CHECK(p && (uintptr_t)p % PRIM_LARGE == 0);
	CHECK(mt_prim_map(PAGE, false) == p - PAGE);
}

TEST(an_unmapped_range_is_gone_and_no_more)
{
	char *a = mt_prim_map(PAGE, false), *b = mt_prim_map(3 * PAGE, false),
	     *c = mt_prim_map(PAGE, false);

	mt_prim_unmap(b, 3 * PAGE);
	CHECK(is_mapped((uintptr_t)a) && is_mapped((uintptr_t)c));
	for (size_t i = 0; i < 3; i++)
		CHECK(!is_mapped((uintptr_t)b + i * PAGE));
}

TEST(a_stretch_grows_where_it_is)
{
	static struct stretch s;
	size_t most = (size_t)8 << 20;
	char *p = mt_stretch_begin(&s, 1000, most, PART_MAP);

	CHECK(p);
	size_t first = s.xbytes;
	CHECK(first >= 1000 && first <= 65536);
	CHECK(!is_mapped((uintptr_t)p + first));
	for (size_t bytes = 1; bytes <= most; bytes += 12345) {
		CHECK(mt_stretch_reach(&s, bytes));
		p[bytes - 1] = 1;
		CHECK(s.xbytes >= bytes && s.xbytes <= bytes + bytes / 8 + 2 * 65536);
	}
	CHECK(!mt_stretch_reach(&s, most + 1));
	CHECK(mt_arena_owns((uintptr_t)p, (uintptr_t)p + 1));
	CHECK(mt_arena_owns((uintptr_t)p + most / 2, (uintptr_t)p + most / 2 + 1));
	mt_stretch_drop(&s, 12346);
	CHECK(p[12345] == 1 && p[12346 + 12345 - 1] == 0);
}

TEST(a_stretch_ends_at_what_is_in_its_way)
{
	static struct stretch s;
	size_t most = (size_t)8 << 20;
	char *p = mt_stretch_begin(&s, 65536, most, PART_MAP), *theirs = others(p + 131072, PAGE);

	memset(theirs, 7, PAGE);
	CHECK(mt_stretch_reach(&s, 90000));
	CHECK_EQ(s.xbytes, 131072);
	for (int i = 0; i < 1000; i++) {
		CHECK(mt_stretch_reach(&s, 131072));
		CHECK(!mt_stretch_reach(&s, 131073));
		CHECK(!mt_stretch_reach(&s, most));
	}
	CHECK(s.xfailed < 100); /* it does not ask the kernel each time */
	mt_stretch_drop(&s, 0);
	CHECK(theirs[0] == 7 && theirs[PAGE - 1] == 7);
}
