/* SPDX-License-Identifier: MIT
 *
 * test_live.c - the live map against a plain table: every size class, neighbours, odd addresses,
 * blocks that were freed unseen, scans, birth ticks and closed regions. Addresses are made up and
 * unmapped.
 */
#include "check.h"
#include "base/types.h"
#include "live/leaves.h"
#include "live/live.h"
#include "live/live_fast.h"
#include "live/sampled.h"
#include "live/scan.h"
#include "live/ticks.h"
#include "live/trim.h"

#include <pthread.h>

#define BASE ((uintptr_t)0x123456000000)

static struct thread owner = { .xindex = 77 };

static void *at(uintptr_t offset)
{
	return (void *)(BASE + offset);
}

static bool enter(uintptr_t offset, size_t size, slot_id slot, struct block *old)
{
	CHECK(mt_live_ready(at(offset), size));
	return mt_live_enter(&owner, at(offset), size, slot, LIVE_OF_ITS_OWN, old) == LIVE_OCCUPIED;
}

TEST(sizes_come_back)
{
	static const size_t sizes[] = { 0,
					1,
					31,
					32,
					1022,
					1023,
					1024,
					1025,
					4096,
					1u << 24,
					(size_t)1 << 31,
					((size_t)1 << 32) + 5,
					(size_t)1 << 46 };
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

/* Made-up addresses: the test's own blocks are not counted, so none may go meanwhile. */
TEST(pages_with_a_recorded_block_are_known)
{
	enum { PAGE = 1 << FEW_SHIFT, FAR = 1 << 30, MANY = 300 };
	struct block old, b;

	CHECK(!live_few_none(at(0x200000))); /* nobody counts */
	bool counting = mt_live_few_begin();
	bool none_yet = live_few_none(at(0x200000));
	enter(0x200000 + PAGE - 16, 24, 3, &old);
	enter(0x200000 + PAGE - 96, 5000, 4, &old);
	enter(0x200000 + FAR + 8, 24, 5, &old);
	bool here = live_few_none(at(0x200000)), after = live_few_none(at(0x200000 + PAGE));
	bool far = live_few_none(at(0x200000 + FAR)),
	     known = mt_live_knows(at(0x200000 + PAGE - 16));
	mt_live_take(at(0x200000 + PAGE - 16));
	bool one_left = live_few_none(at(0x200000));
	enter(0x200000 + PAGE - 96, 6000, 4, &old); /* in the place of one that was freed unseen */
	mt_live_take(at(0x200000 + PAGE - 96));
	mt_live_take(at(0x200000 + PAGE - 96)); /* there is none any more */
	bool none_left = live_few_none(at(0x200000));
	for (int i = 0; i < MANY; i++)
		mt_live_few_add(BASE + 0x200000);
	for (int i = 0; i < MANY; i++)
		mt_live_few_remove(BASE + 0x200000);
	bool stuck = live_few_none(at(0x200000));
	bool told = mt_live_few_end();
	CHECK(counting && told);
	CHECK(none_yet && after && none_left);
	CHECK(!here && !far && !one_left && !stuck && known);
	CHECK(!live_few_none(at(0x200000)));
	CHECK(mt_live_peek(at(0x200000 + FAR + 8), &b));
	CHECK_EQ(b.slot, 5);
	CHECK_EQ(mt_live_take(at(0x200000 + FAR + 8)).slot, 5);
}

static unsigned scanned;
static struct block last_scanned;

static void note(void *arg, uintptr_t addr, const struct block *b)
{
	if (addr == (uintptr_t)arg) {
		scanned++;
		last_scanned = *b;
	}
}

static unsigned scan_for(void *p)
{
	scanned = 0;
	mt_live_scan(note, p);
	return scanned;
}

/* While blocks are sampled: one place for each KiB, and the small leaf for a second block. */
TEST(sampled_blocks_have_a_leaf_of_their_own)
{
	struct block old, b;

	CHECK(mt_live_few_begin());
	CHECK(!enter(0x300010, 24, 3, &old));
	CHECK(!enter(0x300110, 40, 4, &old)); /* in the same KiB */
	CHECK(mt_live_sparse_peek((uintptr_t)at(0x300010), &b));
	CHECK(!mt_live_sparse_peek((uintptr_t)at(0x300110), &b));
	CHECK(mt_live_peek(at(0x300110), &b));
	CHECK_EQ(b.slot, 4);
	CHECK(!mt_live_peek(at(0x300020), &b));
	CHECK_EQ(scan_for(at(0x300010)), 1);
	CHECK_EQ(last_scanned.size, 24);
	CHECK_EQ(last_scanned.slot, 3);
	CHECK(enter(0x300010, 30, 5, &old)); /* freed unseen: small on small, */
	CHECK_EQ(old.size, 24);
	CHECK_EQ(old.slot, 3);
	CHECK(enter(0x300010, 3000, 6, &old)); /* and large on small */
	CHECK_EQ(old.size, 30);
	CHECK_EQ(mt_live_take(at(0x300010)).size, 3000);
	CHECK_EQ(mt_live_take(at(0x300010)).slot, 0);
	CHECK_EQ(mt_live_take(at(0x300110)).slot, 4);
	CHECK(!enter(0x300000, 0, 7, &old)); /* the place is free again */
	CHECK(mt_live_sparse_peek((uintptr_t)at(0x300000), &b));
	CHECK(!mt_live_sparse_peek((uintptr_t)at(0x300008), &b));
}

TEST(sampled_blocks_are_found_when_all_are_recorded)
{
	struct block old, b;

	CHECK(mt_live_few_begin());
	CHECK(!enter(0x300010, 24, 3, &old));
	CHECK(!enter(0x310010, 24, 4, &old));
	CHECK(!enter(0x320010, 24, 5, &old));
	CHECK(mt_live_few_end());
	CHECK(!enter(0x330010, 24, 6, &old));
	CHECK(!mt_live_sparse_peek((uintptr_t)at(0x330010), &b));
	CHECK(mt_live_knows_large(at(0x300010)));
	CHECK_EQ(mt_live_take(at(0x300010)).slot, 3);
	CHECK(enter(0x310010, 90, 7, &old)); /* freed unseen */
	CHECK_EQ(old.slot, 4);
	CHECK(enter(0x320010, 9000, 8, &old));
	CHECK_EQ(old.slot, 5);
	CHECK_EQ(mt_live_take(at(0x310010)).size, 90);
	CHECK_EQ(mt_live_take(at(0x310010)).slot, 0);
	CHECK_EQ(mt_live_take(at(0x320010)).size, 9000);
	CHECK(!mt_live_knows(at(0x320010)));
}

enum { NEIGHBOURS = 4, TURNS = 40000 };

/* Blocks of several threads in one KiB: each finds its own, whoever has the place. */
static void *neighbour(void *arg)
{
	uintptr_t mine = 0x400000 + 64 * (uintptr_t)arg;
	struct block old;

	for (unsigned i = 0; i < TURNS; i++) {
		slot_id slot = 1 + (slot_id)(uintptr_t)arg;
		size_t size = (i + (uintptr_t)arg) % 1000;
		if (enter(mine, size, slot, &old))
			return arg;
		struct block b = mt_live_take(at(mine));
		if (b.slot != slot || b.size != size || mt_live_knows(at(mine)))
			return arg;
	}
	return NULL;
}

TEST(threads_share_a_place_of_sampled_blocks)
{
	pthread_t t[NEIGHBOURS];

	CHECK(mt_live_few_begin());
	for (uintptr_t i = 0; i < NEIGHBOURS; i++)
		CHECK(!pthread_create(&t[i], NULL, neighbour, (void *)(i + 1)));
	for (unsigned i = 0; i < NEIGHBOURS; i++) {
		void *failed;
		CHECK(!pthread_join(t[i], &failed) && !failed);
	}
}

TEST(a_failed_realloc_is_taken_back)
{
	struct block old, b;

	enter(0x3000, 77, 9, &old);
	b = mt_live_take(at(0x3000));
	CHECK_EQ(mt_live_restore(&owner, at(0x3000), &b, &old), LIVE_ENTERED);
	b = mt_live_take(at(0x3000));
	CHECK_EQ(b.size, 77);
	CHECK_EQ(b.slot, 9);
}

TEST(addresses_that_nobody_knows)
{
	CHECK_EQ(mt_live_take((void *)((uintptr_t)1 << 60)).slot, 0);
	CHECK_EQ(mt_live_take((void *)16).slot, 0);
	CHECK(!live_small(live_fast(), (void *)16) && !live_small(live_fast(), (void *)8));
}

struct scan {
	uint64_t blocks, bytes;
};

static void visit(void *arg, uintptr_t addr, const struct block *b)
{
	(void)addr;
	struct scan *s = arg;

	if (b->slot < 0xabc000) /* the test's own blocks, and no others of this process */
		return;
	s->blocks++;
	s->bytes += b->size;
}

static void visit_far(void *arg, uintptr_t addr, const struct block *b)
{
	uint32_t *last = arg;

	(void)addr;
	(void)b;
	CHECK(mt_live_walked >= *last && mt_live_walked <= 100);
	*last = mt_live_walked;
}

TEST(a_walk_tells_how_far_it_is)
{
	struct block old;
	uint32_t last = 1;

	for (uintptr_t i = 0; i < 8; i++)
		CHECK(!enter(i * REGION_BYTES + 0x40, 100, 0xabc001, &old));
	CHECK_EQ(mt_live_walked, 0);
	mt_live_scan(visit_far, &last);
	CHECK(last > 50);
	CHECK_EQ(mt_live_walked, 0);
	for (uintptr_t i = 0; i < 8; i++)
		CHECK_EQ(mt_live_take(at(i * REGION_BYTES + 0x40)).size, 100);
}

/* Regions so far apart have the same place, and the first one gets it. */
TEST(regions_with_the_same_place)
{
	uintptr_t apart = REGION_PLACES << REGION_SHIFT;
	struct scan s = { 0, 0 };
	struct block old, b;

	for (uintptr_t i = 0; i < 5; i++) {
		CHECK(!enter(i * apart + 0x40, 100 + i, 0xabc001, &old));
		CHECK(!enter(i * apart + 0x1000, 5000 + i, 0xabc002, &old));
	}
	CHECK(live_small(live_fast(), at(0x40)));
	mt_live_scan(visit, &s);
	CHECK_EQ(s.blocks, 10);
	for (uintptr_t i = 1; i < 5; i++) {
		CHECK(!live_small(live_fast(), at(i * apart + 0x40)));
		CHECK(mt_live_peek(at(i * apart + 0x40), &b));
		CHECK_EQ(b.size, 100 + i);
		CHECK_EQ(mt_live_take(at(i * apart + 0x1000)).size, 5000 + i);
	}
	CHECK(enter(3 * apart + 0x40, 7, 0xabc001, &old)); /* freed unseen */
	CHECK_EQ(old.size, 103);
	for (uintptr_t i = 0; i < 5; i++)
		CHECK_EQ(mt_live_take(at(i * apart + 0x40)).size, i == 3 ? 7 : 100 + i);
	CHECK_EQ(mt_live_take(at(apart + 0x40)).slot, 0);
}

/* What a small block finds in its way when a large one was freed unseen: only what it lies in. */
TEST(a_large_block_gives_way_to_a_small_one)
{
	struct block old, b;

	CHECK(!enter(0x200 + 0x100, 5000, 9, &old));
	CHECK(!enter(0x200 + 0x80, 64, 10, &old)); /* ends before it */
	CHECK(!enter(0x800, 64, 11, &old));        /* another granule */
	CHECK(mt_live_peek(at(0x300), &b));
	CHECK(enter(0x340, 64, 12, &old));
	CHECK_EQ(old.slot, 9);
	CHECK_EQ(old.size, 5000);
	CHECK(!enter(0x380, 64, 13, &old)); /* once */
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

/* A region is closed for a moment only; here it stays so, and each function is asked. */
TEST(a_closed_region_takes_blocks_all_the_same)
{
	struct block old, b;
	uintptr_t start = BASE & ~(REGION_BYTES - 1);
	struct scan s = { 0, 0 };

	CHECK(!enter(0x40, 100, 0xabc001, &old));
	CHECK(mt_live_make_twin(block_roots_of(BASE), start));
	mt_live_closed = &block_roots_of(BASE)->xsmall;
	mt_live_place_leave(mt_live_open->place, start);
	CHECK(!live_small(live_fast(), at(0x40)));
	CHECK(!enter(0x80, 200, 0xabc002, &old));
	CHECK(mt_live_peek(at(0x40), &b));
	CHECK_EQ(b.size, 100);
	CHECK(mt_live_peek(at(0x80), &b));
	CHECK_EQ(b.size, 200);
	CHECK(mt_live_knows(at(0x40)));
	CHECK(mt_live_knows(at(0x80)));
	CHECK(!mt_live_knows(at(0xc0)));
	CHECK(enter(0x40, 300, 0xabc003, &old)); /* freed unseen before it was closed */
	CHECK_EQ(old.size, 100);
	mt_live_scan(visit, &s);
	CHECK_EQ(s.blocks, 2);
	CHECK_EQ(s.bytes, 500);
	mt_live_give_back(1, 0); /* a server that finds it so opens it */
	CHECK(!mt_live_closed);
	CHECK(live_small(live_fast(), at(0x40)));
	CHECK_EQ(mt_live_take(at(0x80)).size, 200);
	CHECK_EQ(mt_live_take(at(0x80)).slot, 0);
	CHECK(enter(0x40, 400, 0xabc004, &old)); /* ... and while it was */
	CHECK_EQ(old.size, 300);
	CHECK_EQ(mt_live_take(at(0x40)).size, 400);
	CHECK_EQ(mt_live_take(at(0x40)).slot, 0);
}

TEST(a_large_block_ends_what_was_put_aside)
{
	struct block old;
	uintptr_t start = BASE & ~(REGION_BYTES - 1);

	CHECK(mt_live_ready(at(0), 1));
	CHECK(mt_live_make_twin(block_roots_of(BASE), start));
	mt_live_closed = &block_roots_of(BASE)->xsmall;
	mt_live_place_leave(mt_live_open->place, start);
	CHECK(!enter(0x40, 200, 0xabc002, &old));
	mt_live_give_back(1, 0);
	CHECK(enter(0x40, 5000, 0xabc003, &old)); /* freed unseen */
	CHECK_EQ(old.size, 200);
	CHECK_EQ(mt_live_take(at(0x40)).size, 5000);
	CHECK_EQ(mt_live_take(at(0x40)).slot, 0);
}
