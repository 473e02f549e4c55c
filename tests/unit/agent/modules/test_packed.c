/* SPDX-License-Identifier: MIT
 *
 * test_packed.c - packed relocations, from a real linker and invalid ones.
 */
#include "modules/packed.h"
#include "check.h"

#include <string.h>

struct entry {
	uintptr_t offset, info;
	intptr_t addend;
};

#include "packed_tables.h"

struct read {
	struct entry entry[64];
	size_t count, most;
};

static bool take(void *arg, uintptr_t offset, uintptr_t info, intptr_t addend)
{
	struct read *r = arg;

	if (r->count < 64)
		r->entry[r->count] = (struct entry){ offset, info, addend };
	return ++r->count != r->most;
}

static void same(const unsigned char *packed, size_t bytes, const struct entry *want, size_t count)
{
	struct read r = { .count = 0 };

	CHECK(mt_packed_each(packed, bytes, take, &r));
	CHECK_EQ(r.count, count);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(r.entry[i].offset, want[i].offset);
		CHECK_EQ(r.entry[i].info, want[i].info);
		CHECK_EQ(r.entry[i].addend, want[i].addend);
	}
}

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

TEST(packed_relocations_with_addends)
{
	same(packed_rela, sizeof(packed_rela), unpacked_rela, COUNT(unpacked_rela));
}

TEST(packed_relocations_without_addends)
{
	same(packed_rel, sizeof(packed_rel), unpacked_rel, COUNT(unpacked_rel));
}

TEST(the_visitor_may_end_it)
{
	struct read r = { .most = 3 };

	CHECK(mt_packed_each(packed_rela, sizeof(packed_rela), take, &r));
	CHECK_EQ(r.count, 3);
}

/* Cut off anywhere it is malformed, and what came before is what it was. */
TEST(packed_relocations_cut_anywhere_are_malformed)
{
	for (size_t bytes = 0; bytes < sizeof(packed_rela); bytes++) {
		unsigned char copy[sizeof(packed_rela)];
		struct read r = { .count = 0 };
		memcpy(copy, packed_rela, bytes);
		CHECK(!mt_packed_each(copy, bytes, take, &r));
		CHECK(r.count < COUNT(unpacked_rela));
		for (size_t i = 0; i < r.count; i++)
			CHECK_EQ(r.entry[i].offset, unpacked_rela[i].offset);
	}
}

TEST(malformed_relocations_are_refused)
{
	static const unsigned char magic[] = { 'A', 'P', 'S', '1', 1, 0, 1, 0, 8, 1 };
	static const unsigned char empty_group[] = { 'A', 'P', 'S', '2', 1, 0, 0, 0 };
	static const unsigned char large_group[] = { 'A', 'P', 'S', '2', 1, 0, 2, 0, 8, 1, 8, 1 };
	static const unsigned char endless[] = { 'A',  'P',  'S',  '2',  0x80, 0x80,
						 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
						 0x80, 0x80, 0x80, 0x80, 1 };
	static const unsigned char none[] = { 'A', 'P', 'S', '2', 0, 0 };
	struct read r = { .count = 0 };

	CHECK(!mt_packed_each(magic, sizeof(magic), take, &r));
	CHECK(!mt_packed_each(empty_group, sizeof(empty_group), take, &r));
	CHECK(!mt_packed_each(large_group, sizeof(large_group), take, &r));
	CHECK(!mt_packed_each(endless, sizeof(endless), take, &r));
	CHECK(mt_packed_each(none, sizeof(none), take, &r));
	CHECK_EQ(r.count, 0);
}
