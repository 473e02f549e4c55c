/* SPDX-License-Identifier: MIT
 *
 * test_heaps.c - blocks of named heaps against a plain table: any address, any distance, ranges,
 * names, reused cells, and threads that work on neighbours. The addresses are made up and unmapped.
 */
#include "check.h"
#include "base/arena.h"
#include "base/types.h"
#include "modules/maps.h"
#include "record/heaps.h"
#include "unwind/stacks.h"
#include "random.h"

#include <memtop/memtop.h>
#include <pthread.h>

#define BASE ((uintptr_t)0x123456000000)
#define KEYS 3000
#define THREADS 4

static struct block twice;

static bool put(unsigned heap, uintptr_t key, size_t size, slot_id slot)
{
	struct block b = { size, slot, 9, 77 }, there;
	struct cell *c = mt_heaps_claim(heap, key, &there);

	if (c)
		mt_heaps_put(c, heap, key, &b);
	if (there.slot)
		twice = there;
	return c;
}

TEST(what_was_put_comes_back)
{
	static const size_t sizes[] = { 0, 1, 1023, (size_t)1 << 32, ((size_t)1 << 48) - 1 };
	static const uintptr_t keys[] = { 1, 2, 15, BASE, BASE + 1, BASE + 3, UINTPTR_MAX };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			CHECK(put(3, keys[i], sizes[k], 0xfffffe));
			CHECK_EQ(mt_heaps_take(2, keys[i]).slot, 0);
			struct block b = mt_heaps_take(3, keys[i]);
			CHECK_EQ(b.size, sizes[k]);
			CHECK_EQ(b.slot, 0xfffffe);
			CHECK_EQ(b.tick, 9);
			CHECK_EQ(b.thread, 77);
			CHECK_EQ(mt_heaps_take(3, keys[i]).slot, 0);
		}
}

TEST(heaps_are_apart)
{
	CHECK(put(1, BASE, 10, 1) && put(2, BASE, 20, 1) && put(HEAP_BACKING, BASE, 30, 1));
	CHECK_EQ(mt_heaps_take_other(1, BASE).size, 20);
	CHECK_EQ(mt_heaps_take_other(1, BASE).slot, 0); /* memory behind a heap is no heap's */
	CHECK_EQ(mt_heaps_take(1, BASE).size, 10);
	CHECK(heaps_forget_backing((void *)BASE) && !heaps_forget_backing((void *)BASE));
}

TEST(an_address_that_comes_again)
{
	CHECK(put(1, BASE, 10, 4) && put(2, BASE, 20, 5));
	CHECK_EQ(twice.slot, 0);
	CHECK(put(1, BASE, 30, 6));
	CHECK_EQ(twice.slot, 4);
	CHECK_EQ(twice.size, 10);
	CHECK_EQ(mt_heaps_take(1, BASE).size, 30);
	CHECK_EQ(mt_heaps_take(1, BASE).slot, 0);
	CHECK_EQ(mt_heaps_take(2, BASE).size, 20);
}

static struct {
	size_t size;
	bool there;
} model[KEYS];

static void count(void *arg, uintptr_t key, const struct block *b)
{
	(void)key;
	((uint64_t *)arg)[0]++;
	((uint64_t *)arg)[1] += b->size;
}

static void add(void *arg, const struct block *b)
{
	count(arg, 0, b);
}

static void check_scan(void)
{
	uint64_t sum[2] = { 0 }, want[2] = { 0 };

	for (int i = 0; i < KEYS; i++) {
		want[0] += model[i].there;
		want[1] += model[i].there ? model[i].size : 0;
	}
	mt_heaps_scan(count, sum);
	CHECK_EQ(sum[0], want[0]);
	CHECK_EQ(sum[1], want[1]);
}

/* Keys of every distance, in lists that they share. */
static uintptr_t key_of(uint32_t i)
{
	return BASE + (i < KEYS / 2 ? i : (uintptr_t)i << 20);
}

TEST(like_a_table)
{
	seed = 42;
	for (int step = 0; step < 200000; step++) {
		uint32_t i = below(KEYS);
		if (below(2)) {
			struct block b = mt_heaps_take(1, key_of(i));
			CHECK_EQ(b.slot != 0, model[i].there);
			CHECK(!b.slot || b.size == model[i].size);
			model[i].there = false;
		} else if (!model[i].there) {
			model[i].size = below(5000);
			model[i].there = put(1, key_of(i), model[i].size, 1 + i);
			CHECK(model[i].there);
		}
		if (step % 20000 == 0)
			check_scan();
	}
}

TEST(a_range_takes_all_of_one_heaps_blocks)
{
	seed = 7;
	for (int round = 0; round < 200; round++) {
		uint32_t from = below(KEYS / 2), size = below(400);
		uint64_t sum[2] = { 0 }, want = 0;
		for (uint32_t i = 0; i < KEYS / 2; i++)
			if (!model[i].there)
				model[i].there = put(1, key_of(i), model[i].size = 5, 1);
		CHECK(put(2, key_of(from), 1, 1)); /* another heap's stays */
		mt_heaps_take_range(1, key_of(from), size, add, sum);
		for (uint32_t i = from; i < from + size && i < KEYS / 2; i++, want++)
			model[i].there = false;
		CHECK_EQ(sum[0], want);
		CHECK_EQ(mt_heaps_take(2, key_of(from)).slot, 1);
		check_scan();
	}
	uint64_t all[2] = { 0 };
	mt_heaps_take_range(1, 0, SIZE_MAX, add, all);
	CHECK(all[0] > 0);
	memset(model, 0, sizeof(model));
	check_scan();
	mt_heaps_take_range(1, UINTPTR_MAX - 5, 100, add, all); /* past the end of all addresses */
}

static void add_map(void *arg, enum part part, uintptr_t start, uintptr_t end)
{
	if (part == PART_MAP)
		*(uint64_t *)arg += end - start;
}

TEST(cells_are_used_again)
{
	uint64_t before = 0;

	for (int round = 0; round < 200; round++) {
		for (uintptr_t i = 0; i < 1000; i++)
			CHECK(put(1, BASE + i * 16, (size_t)round, 1));
		for (uintptr_t i = 0; i < 1000; i++)
			CHECK_EQ(mt_heaps_take(1, BASE + i * 16).size, round);
		/* and of one that came to nothing */
		struct cell *c = mt_heaps_claim(1, BASE, &twice);
		CHECK(c);
		mt_heaps_give_up(c);
		uint64_t now = 0;
		mt_arena_each(add_map, &now);
		CHECK(now > 0);
		CHECK(round < 2 || now == before);
		before = now;
	}
}

static void *work(void *arg)
{
	uint32_t mine = (uint32_t)(uintptr_t)arg;
	bool there[64] = { false };

	for (uint32_t step = 0; step < 200000; step++) {
		uint32_t i = step * 2654435761u >> 16 & 63;
		uintptr_t key = BASE + i / 8 * 16 + mine; /* a granule is everybody's */
		if (there[i / 8]) {
			struct block b = mt_heaps_take(1, key);
			CHECK_EQ(b.size, mine);
		} else {
			CHECK(put(1, key, mine, 1 + mine));
		}
		there[i / 8] = !there[i / 8];
	}
	for (uint32_t i = 0; i < 8; i++)
		if (there[i])
			CHECK_EQ(mt_heaps_take(1, BASE + i * 16 + mine).slot, 1 + mine);
	return NULL;
}

TEST(threads_side_by_side)
{
	pthread_t t[THREADS];
	uint64_t sum[2] = { 0 };

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	mt_heaps_scan(count, sum);
	CHECK_EQ(sum[0], 0);
}

TEST(a_heaps_name_is_its_number)
{
	struct memtop_heap a = MEMTOP_HEAP("a"), again = MEMTOP_HEAP("a"),
			   path = MEMTOP_HEAP("b/c\nd"), none = MEMTOP_HEAP(NULL),
			   stray = { "a", 999 };
	char text[16];
	unsigned last = 1;

	CHECK_EQ(mt_heaps_number(&a), 1);
	CHECK_EQ(mt_heaps_number(&again), 1);
	CHECK_EQ(mt_heaps_number(&path), 2);
	CHECK_EQ(mt_heaps_number(&none), 3);
	CHECK_EQ(mt_heaps_number(&stray), 1);
	CHECK(mt_heaps_code(1) && mt_heaps_code(2) && mt_heaps_code(1) != mt_heaps_code(2));
	const struct module *m = mt_maps_module(mt_stacks_code_at(mt_heaps_code(2))->module);
	CHECK_STR(m->path, "heap:b_c_d");
	for (int i = 0; last && i < 2000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		struct memtop_heap h = MEMTOP_HEAP(text);
		last = mt_heaps_number(&h);
	}
	CHECK_EQ(last, 0); /* there are no more */
	CHECK_EQ(mt_heaps_number(&a), 1);
}
