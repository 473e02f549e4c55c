/* SPDX-License-Identifier: MIT
 *
 * test_origins.c - numbers of origins: who gets which, when the server gives one back, and what
 * happens without any. Most blocks are made up, at unmapped addresses. The test is the server, and
 * its clock runs as fast as it likes.
 */
#include "check.h"
#include "base/arena.h"
#include "base/state.h"
#include "base/types.h"
#include "live/reclaim.h"
#include "live/leaves.h"
#include "live/live.h"
#include "live/origins.h"
#include "live/scan.h"
#include "live/session.h"
#include "live/ticks.h"
#include "live/trim.h"
#include "record/thread.h"

#include <stdlib.h>

#define BASE ((uintptr_t)0x123456000000 >> REGION_SHIFT << REGION_SHIFT)
#define SECOND_NS 1000000000u
#define SLOT 0xabc000u /* no block of this process itself has it, or a later one */
#define STEP 32        /* all in one region */

/* Enough for a round. */
enum { TAKEN = 70000 };

static struct thread owner = { .xindex = 77 };
static uint32_t taken[TAKEN]; /* entries: each has a number of its own */
static uint64_t now_ns = SECOND_NS;

static void *at(uintptr_t offset)
{
	return (void *)(BASE + offset);
}

static uint32_t entry_at(uintptr_t offset)
{
	const struct block_roots *s = block_roots_of(BASE + offset);

	return *small_at(&s->xsmall, BASE + offset);
}

static uint32_t number(uint32_t entry)
{
	return entry >> LARGE_SHIFT;
}

static bool is_free(uint32_t entry)
{
	return mt_live_open->origin[number(entry)] & ORIGIN_FREE;
}

static unsigned count_free(void)
{
	unsigned n = 0;

	for (int i = 0; i < TAKEN; i++)
		n += is_free(taken[i]);
	return n;
}

static void enter(uintptr_t offset, size_t size, slot_id slot, uint32_t origin)
{
	struct block old;

	CHECK(mt_live_ready(at(offset), size));
	CHECK_EQ(mt_live_enter(&owner, at(offset), size, slot, origin, &old), LIVE_ENTERED);
}

static bool is_block(const struct block *b, size_t size, slot_id slot)
{
	return b->size == size && b->slot == slot && b->thread == 77;
}

static void take_many(void)
{
	mt_state_seal(SEAL_RIGHTS); /* no server but this test */
	for (unsigned i = 0; i < TAKEN; i++) {
		taken[i] = mt_origins_entry_of_one(&owner, SLOT + i);
		CHECK(taken[i]);
	}
}

static void tick(void)
{
	mt_live_advance(now_ns, true);
}

/* A whole round, if one is due. */
static void collect(void)
{
	for (int i = 0; i < 5; i++)
		mt_live_reclaim(now_ns += 9 * (uint64_t)SECOND_NS);
}

static bool origin_is(uint32_t entry, slot_id slot, uint32_t tick, uint32_t thread)
{
	struct block b = origin_block(live_origin(mt_live_open, entry), 0);

	return b.slot == slot && b.tick == tick && b.thread == thread;
}

TEST(a_slot_has_one_number_in_a_tick_of_a_thread)
{
	static struct counter_page leaf, others;
	struct thread other = { .xindex = 78 };
	uint32_t tick_1 = mt_live_tick();

	mt_state_seal(SEAL_RIGHTS);
	uint32_t a = live_entry(&owner, &leaf, 64), b = live_entry(&owner, &leaf, 65);
	uint32_t c = live_entry(&other, &others, 64);
	CHECK(number(a) >= ORIGIN_FIRST && !live_size(a));
	CHECK(a != b && a != c && b != c);
	CHECK_EQ(live_entry(&owner, &leaf, 64), a);
	CHECK_EQ(live_entry(&owner, &leaf, 65), b);
	CHECK_EQ(live_entry(&other, &others, 64), c);
	tick();
	uint32_t later = live_entry(&owner, &leaf, 64);
	CHECK(later != a && later != b && later != c);
	CHECK_EQ(live_entry(&owner, &leaf, 64), later);
	CHECK(live_entry(&owner, &leaf, 65) != b);
	/* a thread that continues the state of one that has ended */
	uint32_t next = live_entry(&other, &leaf, 64);
	CHECK(next != later && next != c);
	CHECK(origin_is(a, 64, tick_1, 77) && origin_is(b, 65, tick_1, 77));
	CHECK(origin_is(c, 64, tick_1, 78) && origin_is(later, 64, tick_1 + 1, 77));
	CHECK(origin_is(next, 64, tick_1 + 1, 78));
}

/* Where block i of them is: an even leaf, an odd one, a twin; the others have no block. */
#define TWINS ((uintptr_t)1 << REGION_SHIFT)

static uintptr_t offset_of_block(unsigned i)
{
	return (uintptr_t)i * STEP + (i % 4 == 1 ? 8 : i % 4 == 2 ? TWINS : 0);
}

static void enter_blocks(void)
{
	enter(TWINS, 1, SLOT, LIVE_OF_ITS_OWN);
	struct block_roots *twin = block_roots_of(BASE + TWINS);
	CHECK(mt_live_make_twin(twin, BASE + TWINS));
	mt_live_closed = &twin->xsmall;
	mt_live_place_leave(mt_live_open->place, BASE + TWINS);
	for (unsigned i = 0; i < TAKEN; i++)
		if (i % 4 != 3)
			enter(offset_of_block(i), i % 1000, SLOT + i, taken[i]);
	mt_live_give_back(now_ns, 0); /* opens it */
	CHECK(!mt_live_closed);
	CHECK(!entry_at(offset_of_block(6)) && entry_at(offset_of_block(4)) &&
	      entry_at(offset_of_block(5)));
}

static void check_blocks(void)
{
	struct block b;

	for (unsigned i = 0; i < TAKEN; i++) {
		CHECK_EQ(mt_live_peek(at(offset_of_block(i)), &b), i % 4 != 3);
		CHECK(i % 4 == 3 || is_block(&b, i % 1000, SLOT + i));
	}
}

TEST(numbers_without_a_block_are_given_back)
{
	unsigned again = 0;

	take_many();
	enter_blocks();
	tick();
	collect();
	for (unsigned i = 0; i < TAKEN; i++)
		CHECK_EQ(is_free(taken[i]), i % 4 == 3);
	check_blocks();
	/* all of them, in whatever order, and then new ones */
	for (uint32_t n, end = mt_origins_end();; again++) {
		n = number(mt_origins_entry_of_one(&owner, 5));
		if (n >= end)
			break;
	}
	CHECK(again >= TAKEN / 4);
	CHECK_EQ(count_free(), 0);
	check_blocks();
	for (unsigned i = 0; i < TAKEN; i++)
		CHECK_EQ(mt_live_take(at(offset_of_block(i))).slot, i % 4 != 3 ? SLOT + i : 0);
	for (unsigned i = 0; i < 2 * TAKEN; i++)
		mt_origins_entry_of_one(&owner, 5);
	tick();
	collect();
	CHECK_EQ(count_free(), TAKEN);
}

TEST(numbers_taken_in_a_round_stay)
{
	static const uint64_t no_mark[ORIGINS / 64];

	take_many();
	mt_origins_sweep(mt_origins_begin(), no_mark);
	CHECK_EQ(count_free(), TAKEN);
	struct round r = mt_origins_begin();
	take_many(); /* the same ones */
	CHECK_EQ(mt_origins_sweep(r, no_mark), TAKEN);
	CHECK_EQ(count_free(), 0);
	CHECK_EQ(mt_origins_sweep(mt_origins_begin(), no_mark), 0);
	CHECK_EQ(count_free(), TAKEN);
}

TEST(a_leaf_keeps_no_number_past_a_round)
{
	static uint64_t mark[ORIGINS / 64];
	static struct counter_page leaf;

	mt_state_seal(SEAL_RIGHTS);
	uint32_t entry = live_entry(&owner, &leaf, SLOT);
	CHECK_EQ(mt_origins_sweep(mt_origins_begin(), mark), 0);
	CHECK_EQ(mt_origins_entry_of_one(&owner, SLOT + 1), entry);
	mark[number(entry) / 64] |= (uint64_t)1 << number(entry) % 64;
	for (int i = 0; i < 4; i++) { /* all in one tick */
		CHECK_EQ(mt_origins_sweep(mt_origins_begin(), mark), 1);
		CHECK(live_entry(&owner, &leaf, SLOT) != entry);
	}
}

/* It has a number of the tick before, and has not entered its block yet. */
TEST(who_is_in_the_middle_of_an_event_delays_a_round)
{
	struct thread *t = mt_thread_self();
	struct block b;

	take_many();
	tick();
	uintptr_t was = t->busy_sp;
	t->busy_sp = (uintptr_t)&was;
	collect();
	enter(0, 9, SLOT, taken[0]);
	t->busy_sp = was;
	CHECK_EQ(count_free(), 0);
	collect();
	CHECK_EQ(count_free(), TAKEN - 1);
	CHECK(mt_live_peek(at(0), &b) && is_block(&b, 9, SLOT));
}

static unsigned scanned;

static void visit(void *arg, uintptr_t addr, const struct block *b)
{
	unsigned i = b->slot - SLOT;

	(void)arg;
	if (b->slot >= SLOT)
		scanned += (addr - BASE) / STEP == i && is_block(b, i, SLOT + i);
}

static unsigned scan(void)
{
	scanned = 0;
	mt_live_scan(visit, NULL);
	return scanned;
}

static void take_all(void)
{
	mt_state_seal(SEAL_RIGHTS);
	while (mt_origins_entry_of_one(&owner, SLOT))
		;
	CHECK(!mt_origins_left());
}

TEST(without_numbers_entries_are_wide)
{
	enum { BLOCKS = 1000 }; /* every second one at an odd address */
	static struct counter_page leaf;
	struct block b, old;

	take_all();
	CHECK_EQ(live_entry(&owner, &leaf, 64), 0);
	for (unsigned i = 0; i < BLOCKS; i++) {
		enter(i * STEP + i % 2 * 8, i, SLOT + i, LIVE_OF_ITS_OWN);
		CHECK_EQ(number(entry_at(i * STEP + i % 2 * 8)), ORIGIN_WIDE);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		void *p = at(i * STEP + i % 2 * 8);
		CHECK(mt_live_peek(p, &b) && is_block(&b, i, SLOT + i));
		b = mt_live_take(p);
		CHECK(is_block(&b, i, SLOT + i) && b.tick == mt_live_tick());
		CHECK_EQ(mt_live_take(p).slot, 0);
		CHECK_EQ(mt_live_restore(&owner, p, &b, &old), LIVE_ENTERED);
	}
	CHECK_EQ(scan(), BLOCKS);
	CHECK_EQ(mt_live_enter(&owner, at(0), 7, 8, 0, &old), LIVE_OCCUPIED);
	CHECK(is_block(&old, 0, SLOT));
	for (unsigned i = 1; i < BLOCKS; i++)
		CHECK_EQ(mt_live_take(at(i * STEP + i % 2 * 8)).slot, SLOT + i);
	tick();
	collect();
	enter(STEP, 10, SLOT, LIVE_OF_ITS_OWN);
	CHECK(number(entry_at(STEP)) != ORIGIN_WIDE);
	CHECK(number(live_entry(&owner, &leaf, 64)) >= ORIGIN_FIRST);
	CHECK(mt_live_peek(at(0), &b) && is_block(&b, 7, 8));
}

/* The program's own blocks: with numbers, without, and with numbers again. */
TEST(malloc_goes_on_without_numbers)
{
	struct block b;
	void *p[20];

	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 20; i++) {
			p[i] = realloc(malloc(30), 100);
			CHECK(mt_live_peek(p[i], &b) && b.size == 100 && b.slot && b.slot < SLOT);
			CHECK_EQ(b.tick, mt_live_tick());
			uint32_t n = number(*live_small(live_fast(), p[i]));
			CHECK_EQ(n == ORIGIN_WIDE, turn == 1);
		}
		for (int i = 0; i < 20; i++)
			free(p[i]);
		CHECK(!mt_live_knows(p[0]));
		tick();
		if (turn)
			collect();
		else
			take_all();
	}
}

TEST(a_new_session_knows_none_of_the_old_numbers)
{
	struct block b, old;
	uint32_t end, held[2];

	take_many();
	tick();
	collect();
	CHECK_EQ(count_free(), TAKEN);
	for (unsigned i = 0; i < 2; i++)
		held[i] = mt_origins_entry_of_one(&owner, SLOT + i);
	CHECK_EQ(count_free(), TAKEN - 2);
	end = mt_origins_end();
	mt_live_restart();
	CHECK(number(mt_origins_entry_of_one(&owner, 5)) >= end);
	for (unsigned i = 0; i < 2; i++) /* late */
		enter(i * STEP, 10, SLOT + i, held[i]);
	CHECK(!mt_live_peek(at(0), &b));
	CHECK_EQ(scan(), 0);
	CHECK_EQ(mt_live_take(at(0)).slot, 0);
	CHECK_EQ(entry_at(0), 0);
	CHECK_EQ(mt_live_enter(&owner, at(STEP), 10, 4, LIVE_OF_ITS_OWN, &old), LIVE_ENTERED);
	CHECK_EQ(mt_live_take(at(STEP)).slot, 4);
	enter(STEP, 10, SLOT + 1, held[1]);
	for (unsigned i = 0; i < TAKEN; i++)
		CHECK(number(mt_origins_entry_of_one(&owner, 5)) >= end);
	tick();
	collect();
	for (unsigned i = 0; i < TAKEN; i++)
		CHECK_EQ(is_free(taken[i]), taken[i] != held[1]);
}

static void covers(void *arg, enum part part, uintptr_t start, uintptr_t end)
{
	uintptr_t in = (uintptr_t)live_fast();

	(void)part;
	if (in >= start && in < end)
		*(bool *)arg = (uintptr_t)&live_fast()->origin[1] <= end;
}

/* realloc() reads the origin of the entry that it did not find. */
TEST(no_entry_has_an_origin_wherever_blocks_are_looked_for)
{
	bool covered = false;

	mt_live_suspect();
	CHECK(live_fast() != mt_live_open);
	mt_arena_each(covers, &covered);
	CHECK(covered);
	CHECK_EQ(live_origin(live_fast(), 0), 0);
}
