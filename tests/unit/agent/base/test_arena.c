/* SPDX-License-Identifier: MIT
 *
 * test_arena.c - the agent's own memory: whose it is, that much of it lies in large pages, and that
 * a piece which threads need at the same time is refused to none of them.
 */
#include "check.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "base/types.h"

#include <string.h>

#define PIECE ((size_t)24 * 1024)
#define PIECES 700u /* 16 MiB */
#define FEW 100u    /* 2 MiB */

static char *piece[PIECES];
static uint32_t large; /* ranges that are whole large pages */

static void count_large(void *arg, enum part part, uintptr_t start, uintptr_t end)
{
	(void)arg;
	if (part == PART_STACKS && start % PRIM_LARGE == 0 && end - start == PRIM_LARGE)
		large++;
}

static uint32_t large_ranges(void)
{
	large = 0;
	mt_arena_each(count_large, NULL);
	return large;
}

static bool is_zero(const char *p, size_t bytes)
{
	return !p[0] && !memcmp(p, p + 1, bytes - 1);
}

static bool take(uint32_t i)
{
	piece[i] = mt_arena_alloc(PIECE);
	if (!piece[i] || !is_zero(piece[i], PIECE))
		return false;
	memset(piece[i], (int)(1 + i % 255), PIECE);
	return mt_arena_owns((uintptr_t)piece[i], (uintptr_t)piece[i] + PIECE);
}

TEST(much_memory_asks_for_large_pages)
{
	mt_conf.max_memory = (uint64_t)64 << 20;
	for (uint32_t i = 0; i < FEW; i++)
		CHECK(take(i));
	CHECK_EQ(large_ranges(), 0);
	for (uint32_t i = FEW; i < PIECES; i++)
		CHECK(take(i));
	CHECK(large_ranges() >= 4 && large_ranges() <= 7);
	for (uint32_t i = 0; i < PIECES; i++)
		CHECK(piece[i][0] == (char)(1 + i % 255) &&
		      !memcmp(piece[i], piece[i] + 1, PIECE - 1));
}

TEST(a_large_mapping_is_zeroed_whole_and_alone)
{
	char *p = mt_prim_map_large(2 * PRIM_LARGE);

	CHECK(p && (uintptr_t)p % PRIM_LARGE == 0);
	CHECK(is_zero(p, 2 * PRIM_LARGE));
	CHECK(mt_prim_readable((uintptr_t)p, 2 * PRIM_LARGE));
	mt_prim_unmap(p, 2 * PRIM_LARGE);
	CHECK(!mt_prim_readable((uintptr_t)p, 1));
	CHECK(!mt_prim_readable((uintptr_t)p + 2 * PRIM_LARGE - 1, 1));
}

#define SHARED ((size_t)4096)

static void full_but_for(size_t bytes)
{
	mt_conf.max_memory = mt_arena_bytes() + bytes;
}

TEST(a_shared_piece_has_its_place)
{
	void *_Atomic place = NULL, *_Atomic other = NULL;

	full_but_for(SHARED);
	void *p = mt_arena_place(&place, NEED_ALL, SHARED);
	CHECK(p && p == place && is_zero(p, SHARED));
	CHECK(mt_arena_place(&place, NEED_ALL, SHARED) == p);
	CHECK_EQ(mt_arena_bytes(), mt_conf.max_memory);
	CHECK(!mt_arena_place(&other, NEED_ALL, SHARED) && !other);
}

/* Another thread has claimed it, has counted it, so that nothing is left, and then lost its
 * processor. When it comes back it takes what is there. */
TEST(a_shared_piece_that_another_thread_makes_is_not_refused)
{
	void *_Atomic place = ARENA_CLAIMED;

	full_but_for(0);
	void *p = mt_arena_place(&place, NEED_ALL, SHARED);
	CHECK(arena_is_made(p) && p == place && is_zero(p, SHARED));
	CHECK_EQ(mt_arena_bytes(), mt_conf.max_memory);
}
