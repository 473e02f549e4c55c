/* SPDX-License-Identifier: MIT
 *
 * reclaim.c - gives numbers of origins back that no block has any more. live/origins.h has the
 * scheme, and why none is given back that an entry has.
 *
 * A round reads all small leaves. So it begins when as many numbers were taken as were in use after
 * the last one: it reads a few entries for each number that it may find. The table then has twice
 * as many words as are needed, and no program with less than LEAST numbers ever comes here. Where
 * the numbers run short, a round begins earlier, and reads more at once.
 *
 * All state here is the server's own; that of a forked child, and of the next session, begins anew.
 */
#include "live/reclaim.h"
#include "base/arena.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "live/leaves.h"
#include "live/origins.h"
#include "live/quiescence.h"

#include <string.h>

#define LEAST 65536u              /* numbers taken since the last round: half a MiB of the table */
#define SHORT (ORIGINS / 4)       /* so few are left */
#define SELDOM_NS 8000000000u     /* between rounds that found little, and after TRIES */
#define TRIES 20                  /* to see every thread outside of its guard */
#define BYTES_AT_ONCE (16u << 20) /* of entries, read in one call: some milliseconds */
#define IN_USE_BYTES (ORIGINS / 8)

static struct {
	int pid;               /* whose process this state is of */
	const struct used *at; /* the next leaf to read; NULL = no round is under way */
	struct round round;
	bool begun;       /* the round; not every thread was seen outside of its guard yet */
	uint64_t taken;   /* mt_origins_taken() when it began */
	uint32_t in_use;  /* after the last one */
	uint64_t next_ns; /* none before */
	unsigned tries;   /* in vain */
} collection;

static uint64_t *in_use_bits; /* a bit for each number; pages only during a round */

static bool make_bits(void)
{
	if (in_use_bits)
		return true;
	in_use_bits = mt_prim_map(IN_USE_BYTES, true);
	if (in_use_bits)
		mt_arena_range((uintptr_t)in_use_bits, IN_USE_BYTES, PART_MAP);
	return in_use_bits;
}

/* Numbers that were not in use after the last round, and that nobody has taken since. */
static uint32_t left(void)
{
	uint64_t gone = collection.in_use + (mt_origins_taken() - collection.taken);

	return gone < ORIGINS ? ORIGINS - (uint32_t)gone : 0;
}

static bool due(uint64_t now_ns)
{
	uint64_t enough = collection.in_use > LEAST ? collection.in_use : LEAST;

	if (now_ns < collection.next_ns && collection.next_ns - now_ns <= SELDOM_NS)
		return false;
	return mt_origins_taken() - collection.taken >= enough || left() < SHORT ||
	       !mt_origins_left();
}

/* False: not now. */
static bool begin(uint64_t now_ns)
{
	if (!make_bits())
		return false;
	if (!collection.begun)
		collection.round = mt_origins_begin();
	collection.begun = true;
	if (!mt_live_quiescent()) {
		if (++collection.tries % TRIES == 0)
			collection.next_ns = now_ns + SELDOM_NS;
		return false;
	}
	collection.begun = false;
	collection.tries = 0;
	collection.taken = mt_origins_taken();
	collection.at = atomic_load_explicit(&mt_live_used, memory_order_acquire);
	return true;
}

static void note_page(const struct used *u, size_t page)
{
	size_t n = mt_prim_page_bytes() / sizeof(small_entry);
	const small_entry *e = (const small_entry *)u->leaf + page * n;

	for (size_t i = 0; i < n; i++) {
		uint32_t number = atomic_load_explicit(&e[i], memory_order_relaxed) >> LARGE_SHIFT;
		in_use_bits[number / 64] |= (uint64_t)1 << number % 64;
	}
}

/* Every page that may have an entry: also those that are swapped out. */
static size_t note_leaf(const struct used *u)
{
	static unsigned char touched[LEAF_PAGES_MAX];
	size_t pages = mt_live_leaf_bytes(u->kind) / mt_prim_page_bytes(), read = 0;
	bool all = mt_prim_touched((uintptr_t)u->leaf, pages, touched) != TOUCHED_ALL;

	for (size_t i = 0; i < pages; i++)
		if (all || touched[i]) {
			note_page(u, i);
			read += mt_prim_page_bytes();
		}
	return read;
}

static void end(uint64_t now_ns)
{
	uint32_t before = collection.in_use;

	collection.in_use = mt_origins_sweep(collection.round, in_use_bits);
	mt_prim_drop(in_use_bits, IN_USE_BYTES);
	if (left() < SHORT || collection.in_use > before + LEAST)
		collection.next_ns = now_ns + SELDOM_NS;
}

static void reset(uint64_t taken)
{
	if (in_use_bits)
		mt_prim_drop(in_use_bits, IN_USE_BYTES);
	memset(&collection, 0, sizeof(collection));
	collection.pid = mt_pid;
	collection.taken = taken;
}

void mt_live_reclaim_restart(void)
{
	reset(mt_origins_taken());
}

void mt_live_reclaim(uint64_t now_ns)
{
	if (collection.pid != mt_pid) {
		mt_origins_forked();
		reset(0); /* of what was in use, much may not be any more */
	}
	if (atomic_load(&mt_live_unlisted) || (!collection.at && (!due(now_ns) || !begin(now_ns))))
		return;
	size_t most = left() < SHORT ? 16 * BYTES_AT_ONCE : BYTES_AT_ONCE;
	for (size_t read = 0; collection.at && read < most; collection.at = collection.at->next)
		if (leaf_is_small(collection.at->kind))
			read += note_leaf(collection.at);
	if (!collection.at && !atomic_load(&mt_live_unlisted))
		end(now_ns);
}
