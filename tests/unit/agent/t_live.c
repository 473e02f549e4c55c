/* SPDX-License-Identifier: MIT
 *
 * t_live.c - the live map against a plain table: every size class, neighbours, odd addresses,
 * blocks that were freed unseen, scans and birth ticks. Addresses are made up; nothing is there.
 */
#include "agent.h"
#include "check.h"

#define BASE ((uintptr_t)0x123456000000)

static struct thread owner = { .xindex = 77 };

static void *at(uintptr_t offset)
{
	return (void *)(BASE + offset);
}

static bool enter(uintptr_t offset, size_t size, slot_id slot, struct block *old)
{
	CHECK(mt_live_ready(at(offset), size));
	return mt_live_enter(&owner, at(offset), size, slot, old);
}

TEST(sizes_come_back)
{
	static const size_t sizes[] = { 0, 1, 31, 32, 1022, 1023, 1024, 1025, 4096, 1u << 24, (size_t)1 << 31,
					((size_t)1 << 32) + 5, (size_t)1 << 46 };
	struct block old, b;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CHECK(!mt_live_peek(at(64), &b));
		CHECK(!enter(64, sizes[i], 0xfffffe, &old));
		CHECK(mt_live_peek(at(64), &b));
		CHECK_EQ(b.size, sizes[i]);
		b = mt_live_take(at(64));
		CHECK_EQ(b.size, sizes[i]);
		CHECK_EQ(b.slot, 0xfffffe);
		CHECK_EQ(b.thread, 77);
		CHECK_EQ(mt_live_take(at(64)).slot, 0); /* a double free finds nothing */
	}
}

TEST(large_neighbours_are_not_mistaken)
{
	struct block old;

	CHECK(!enter(0x400 + 0x3f0, 2000, 5, &old)); /* starts at the end of its granule */
	CHECK_EQ(mt_live_take(at(0x400)).slot, 0);   /* an unknown block in the same granule */
	CHECK_EQ(mt_live_take(at(0x400 + 0x3e0)).slot, 0);
	CHECK_EQ(mt_live_take(at(0x400 + 0x3f0)).size, 2000);
}

TEST(odd_addresses_have_a_map_of_their_own)
{
	struct block old, b;

	CHECK(!mt_live_peek(at(0x100 + 8), &b));
	CHECK(!enter(0x100, 8, 3, &old));
	CHECK(!enter(0x100 + 8, 7, 4, &old));
	CHECK_EQ(mt_live_take(at(0x100)).slot, 3);
	CHECK_EQ(mt_live_take(at(0x100 + 8)).slot, 4);
	CHECK_EQ(mt_live_take(at(0x100 + 8)).slot, 0);
}

TEST(unseen_frees_show)
{
	struct block old;

	CHECK(!enter(0x2000, 100, 1, &old));
	CHECK(enter(0x2000, 200, 2, &old)); /* small on small */
	CHECK_EQ(old.size, 100);
	CHECK_EQ(old.slot, 1);
	CHECK(enter(0x2000, 5000, 3, &old)); /* large on small */
	CHECK_EQ(old.size, 200);
	CHECK(enter(0x2000, 6000, 4, &old)); /* large on large */
	CHECK_EQ(old.size, 5000);
	CHECK_EQ(old.slot, 3);
	CHECK_EQ(mt_live_take(at(0x2000)).size, 6000);
	CHECK_EQ(mt_live_take(at(0x2000)).slot, 0);
}

TEST(a_failed_realloc_is_taken_back)
{
	struct block old, b;

	enter(0x3000, 77, 9, &old);
	b = mt_live_take(at(0x3000));
	CHECK(!mt_live_restore(&owner, at(0x3000), &b, &old));
	b = mt_live_take(at(0x3000));
	CHECK_EQ(b.size, 77);
	CHECK_EQ(b.slot, 9);
}

TEST(impossible_addresses)
{
	CHECK(!mt_live_ready((void *)((uintptr_t)1 << 60), 10));
	CHECK_EQ(mt_live_take((void *)((uintptr_t)1 << 60)).slot, 0);
	CHECK_EQ(mt_live_take((void *)16).slot, 0);
}

struct scan {
	uint64_t blocks, bytes;
};

static void visit(void *arg, const struct block *b)
{
	struct scan *s = arg;

	if (b->slot < 0xabc000) /* the test's own blocks, and no others of this process */
		return;
	s->blocks++;
	s->bytes += b->size;
}

/* What a small block finds in its way when a large one was freed unseen: only what it lies in. */
TEST(a_large_block_gives_way_to_a_small_one)
{
	struct block old, b;

	CHECK(!enter(0x200 + 0x100, 5000, 9, &old));
	CHECK(!enter(0x200 + 0x80, 64, 10, &old));  /* ends before it */
	CHECK(!enter(0x800, 64, 11, &old));         /* another granule */
	CHECK(mt_live_peek(at(0x300), &b));
	CHECK(enter(0x340, 64, 12, &old));
	CHECK_EQ(old.slot, 9);
	CHECK_EQ(old.size, 5000);
	CHECK(!enter(0x380, 64, 13, &old));         /* once */
	CHECK(!mt_live_peek(at(0x300), &b));
	CHECK_EQ(mt_live_take(at(0x280)).slot, 10);
	CHECK_EQ(mt_live_take(at(0x800)).slot, 11);
	CHECK_EQ(mt_live_take(at(0x340)).slot, 12);
	CHECK_EQ(mt_live_take(at(0x380)).slot, 13);
}

/* Random operations beside a table of what must be there. */
TEST(agrees_with_a_table)
{
	enum { PLACES = 4096, STEP = 4096 };
	static size_t table[PLACES]; /* size + 1, 0 = nothing there */
	uint64_t seed = 42, blocks = 0, bytes = 0;
	struct scan s = { 0, 0 };
	struct block old;

	for (int i = 0; i < 200000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned place = seed >> 33 & (PLACES - 1);
		uintptr_t offset = (uintptr_t)place * STEP + (place * 32u) % STEP;
		if (table[place]) {
			struct block b = mt_live_take(at(offset));
			CHECK_EQ(b.size, table[place] - 1);
			CHECK_EQ(b.slot, 0xabc000 + place);
			blocks--;
			bytes -= b.size;
			table[place] = 0;
		} else {
			size_t size = (seed >> 50) % 3000;
			CHECK(!enter(offset, size, 0xabc000 + place, &old));
			blocks++;
			bytes += size;
			table[place] = size + 1;
		}
	}
	mt_live_scan(visit, &s);
	CHECK_EQ(s.blocks, blocks);
	CHECK_EQ(s.bytes, bytes);
}

TEST(ticks_follow_the_clock_and_marks)
{
	uint64_t second = 1000000000, now = 1000 * second;
	uint32_t first = mt_live_tick();

	mt_live_advance(now, true);
	CHECK_EQ(mt_live_tick(), first + 1);
	CHECK_EQ(mt_live_tick_ns(first + 1), now);
	mt_live_advance(now + second / 2, false);
	CHECK_EQ(mt_live_tick(), first + 1);
	mt_live_advance(now + second / 2, true);
	CHECK_EQ(mt_live_tick(), first + 2);
	for (int i = 0; i < 70000; i++)
		mt_live_advance(now += 300 * second, false);
	CHECK_EQ(mt_live_tick(), 65535); /* stands still at the end of its budget */
}
