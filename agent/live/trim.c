/* SPDX-License-Identifier: MIT
 *
 * trim.c - gives memory of the live map back: pages of small leaves whose blocks are gone.
 *
 * A page of entries covers 32 KiB of heap (16 where granules are of 16). When much less is live
 * than was, the server looks at all leaves twice, a second apart, and returns the pages that were
 * empty both times. It does not see a rise and fall between two ticks. So when much was freed, it
 * looks now and then in any case, less often when it finds nothing. No thread waits for it, and the
 * usual paths of malloc and free have no instruction for it. One thing could go wrong: a thread
 * writes an entry after the server has seen the page empty, and before the page is gone.
 *
 * So the region is closed meanwhile. In this order the server
 *   1. gives the region a twin leaf, marks it closed in mt_live_closed, takes it from mt_live_open,
 *      and begins another era;
 *   2. has each thread of the process pass a memory barrier (membarrier);
 *   3. waits until it has seen each thread outside the guard of record/record.c (busy_sp), and no
 *      unguarded write under way. The wait is short: on failure it opens the region again, and
 *      tries at another tick;
 *   4. looks at the page again, and returns it if it is still empty;
 *   5. opens the region.
 *
 * No entry is written into the leaf after 3, for this reason. Each thread passes the barrier at
 * some point of its program: 3 sees every store before that point, and no load after it returns
 * values older than 1. An entry under way at that point is complete when the thread was seen
 * outside its guard. All others go elsewhere:
 *   - A slow writer (enter() in live/live.c) reads mt_live_closed with its guard set. If it does
 *     so after its point, it takes the twin. If before, the guard was set before, too.
 *   - The fast path (record_alloc) looks the leaf up first and then sets its guard, so it may hold
 *     a leaf that was open. But it books there only after it has read mt_era and found the era of
 *     the stack that it expects; else it looks again (mt_record_alloc_stack). If it reads mt_era
 *     before its point, its guard is seen. If after, it reads the new era. Then an earlier event
 *     of this thread with the same stack pointer renewed the stack in the new era, so no event of a
 *     signal handler within this one did. So the thread looked the leaf up after that: it found
 *     none.
 *   - A signal handler that allocates inside an event finds the guard set, and leaves it so.
 *   - free() writes 0 only where it found its own block: to a page that is not empty until then.
 * A dropped page reads as 0, which is what it held. Nothing is ever unmapped, so a leaf's address
 * stays valid for every thread that still holds it.
 *
 * On failure it does nothing: no membarrier (Linux before 4.14), no pagemap, or a guard left behind
 * by a thread that never comes back. Large leaves, a sixty-fourth of the heap, are kept; so are
 * twins and wide ones. A child that was forked in between finds the region closed, which is slower
 * but correct, until its own server opens it.
 *
 * The server calls this at each tick. All state here is its own.
 */
#include "live/trim.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/thread_list.h"
#include "live/leaves.h"
#include "live/live_fast.h"
#include "live/quiescence.h"

#define PAUSE_NS 1000000000u    /* between looks, and between the two at a page */
#define WORTH_BYTES (16u << 20) /* of blocks that went */
#define SELDOM_NS 8000000000u   /* between looks in any case; doubles while nothing is found */
#define SELDOM_MOST_NS (8 * (uint64_t)SELDOM_NS)
#define FEW_PAGES 4        /* are not worth a barrier */
#define PAGES_AT_ONCE 4096 /* looked at in one call: some milliseconds */
#define TRIES 20           /* to see every thread outside of its guard */

uint64_t mt_live_given_back;

static struct {
	struct used *at;            /* the next leaf to look at; NULL = no look is under way */
	bool second;                /* of the two */
	unsigned tries;             /* in vain, at this leaf */
	bool failed;                /* ... and at some leaf too many */
	uint64_t next_ns;           /* when to look again */
	uint64_t any_ns, seldom_ns; /* when to look in any case, and what comes between */
	uint64_t most_bytes;        /* that were alive since the last time */
	uint64_t first_bytes;       /* that were alive when the first of the two began */
	uint64_t peak_bytes;        /* as it was then */
	uint64_t freed_bytes, given_back; /* ... likewise */
} look = { .seldom_ns = SELDOM_NS };

static unsigned char touched[LEAF_PAGES_MAX];

static struct place *places(void)
{
	return atomic_load_explicit(&mt_live_open, memory_order_relaxed)->place;
}

static void open_again(const struct used *u)
{
	if (u->kind == LEAF_EVEN)
		mt_live_place_take(places(), u->start, atomic_load(&u->roots->xsmall));
	atomic_store(&mt_live_closed, NULL);
}

/* True: no thread writes an entry into the leaf until it is opened again. */
static bool close_region(const struct used *u)
{
	if (!mt_live_make_twin(u->roots, u->start))
		return false;
	atomic_store(&mt_live_closed, &u->roots->xsmall);
	if (u->kind == LEAF_EVEN)
		mt_live_place_leave(places(), u->start);
	mt_era_next();
	if (mt_live_quiescent())
		return true;
	open_again(u);
	return false;
}

static bool is_empty(const struct used *u, size_t page)
{
	size_t n = mt_prim_page_bytes() / sizeof(small_entry);
	const small_entry *e = (const small_entry *)u->leaf + page * n;
	uint32_t any = 0;

	for (size_t i = 0; i < n && !any; i += 16)
		for (size_t k = i; k < i + 16; k++)
			any |= atomic_load_explicit(&e[k], memory_order_relaxed);
	return !any;
}

static bool noted(const struct used *u, size_t page)
{
	return u->empty[page / 64] >> page % 64 & 1;
}

static void note(const struct used *u, size_t page, bool empty)
{
	uint64_t bit = (uint64_t)1 << page % 64;

	u->empty[page / 64] = empty ? u->empty[page / 64] | bit : u->empty[page / 64] & ~bit;
}

/* Notes which pages are there and empty; in the second look, those that were so in the first,
 * too. */
static size_t look_at(const struct used *u, size_t pages, size_t *found)
{
	size_t there = 0;

	*found = 0;
	if (!mt_prim_touched((uintptr_t)u->leaf, pages, touched))
		return 0;
	for (size_t i = 0; i < pages; i++) {
		bool empty = touched[i] && (!look.second || noted(u, i)) && is_empty(u, i);
		there += touched[i] & PAGE_THERE;
		*found += empty;
		note(u, i, empty);
	}
	return there;
}

/* The region is closed. */
static void drop(const struct used *u, size_t pages)
{
	size_t page = mt_prim_page_bytes(), begin = 0;

	for (size_t i = 0; i <= pages; i++) {
		if (i < pages && noted(u, i) && is_empty(u, i))
			continue;
		mt_live_given_back += i - begin;
		if (i > begin)
			mt_prim_drop((char *)u->leaf + begin * page, (i - begin) * page);
		begin = i + 1;
	}
}

static uint64_t live_bytes(uint64_t *freed)
{
	uint64_t allocated = 0;

	*freed = 0;
	for (const struct thread *t = threads_first(); t; t = threads_next(t))
		*freed += atomic_load_explicit(&t->total.xfree_bytes, memory_order_acquire);
	for (const struct thread *t = threads_first(); t; t = threads_next(t))
		allocated += atomic_load_explicit(&t->total.xalloc_bytes, memory_order_relaxed);
	return allocated > *freed ? allocated - *freed : 0;
}

/* In a forked child the clock restarts, so a time further off than any wait counts as over, too. */
static bool reached(uint64_t now_ns, uint64_t when_ns, uint64_t most_ns)
{
	return now_ns >= when_ns || when_ns - now_ns > most_ns;
}

/* Is it time for a look, and worth one? */
static bool due(uint64_t now_ns, uint64_t peak)
{
	uint64_t freed, live = live_bytes(&freed);

	if (peak != look.peak_bytes && peak > look.most_bytes)
		look.most_bytes = peak; /* it may have been between two calls */
	look.peak_bytes = peak;
	if (live > look.most_bytes)
		look.most_bytes = live;
	if (!reached(now_ns, look.next_ns, SELDOM_NS))
		return false;
	look.next_ns = now_ns + PAUSE_NS;
	if (!look.second)
		look.first_bytes = live;
	return look.second || look.most_bytes - live >= WORTH_BYTES ||
	       (freed - look.freed_bytes >= WORTH_BYTES &&
		reached(now_ns, look.any_ns, SELDOM_MOST_NS));
}

/* Pages freed since the first look began have not been looked at twice. */
static void finish(uint64_t now_ns)
{
	look.next_ns = now_ns + PAUSE_NS;
	look.second = !look.second;
	if (look.second)
		return;
	look.seldom_ns = look.given_back != mt_live_given_back ? SELDOM_NS : 2 * look.seldom_ns;
	if (look.seldom_ns > SELDOM_MOST_NS)
		look.seldom_ns = SELDOM_MOST_NS;
	look.any_ns = now_ns + look.seldom_ns;
	look.given_back = mt_live_given_back;
	if (look.failed)
		look.next_ns = now_ns + SELDOM_NS;
	else
		look.most_bytes = look.first_bytes;
	look.failed = false;
	live_bytes(&look.freed_bytes);
}

/* Counts the pages that it looked at; false: threads are in the way, so look at the leaf again. */
static bool give(const struct used *u, size_t *looked_at)
{
	size_t pages = mt_live_leaf_bytes(u->kind) / mt_prim_page_bytes(), found;

	*looked_at = look_at(u, pages, &found);
	if (!look.second || found < FEW_PAGES)
		return true;
	if (!close_region(u))
		return false;
	drop(u, pages);
	open_again(u);
	return true;
}

/* Cleans up after a server that ended half way: this process is its forked child, or its next
 * server. */
static void open_left(void)
{
	const region_leaf *closed = atomic_load(&mt_live_closed);
	struct used *u = atomic_load_explicit(&mt_live_used, memory_order_acquire);

	for (; closed && u; u = u->next)
		if ((u->kind == LEAF_EVEN || u->kind == LEAF_ODD) && &u->roots->xsmall == closed)
			open_again(u);
}

void mt_live_give_back(uint64_t now_ns, uint64_t peak_bytes)
{
	size_t left = PAGES_AT_ONCE, looked_at;

	open_left();
	if (!look.at) {
		if (!due(now_ns, peak_bytes))
			return;
		look.at = atomic_load_explicit(&mt_live_used, memory_order_acquire);
	}
	while (look.at && left) {
		struct used *u = look.at;
		if (u->kind == LEAF_EVEN || u->kind == LEAF_ODD) {
			bool given = give(u, &looked_at);
			if (!given && ++look.tries < TRIES)
				return; /* in another tick */
			look.failed |= !given;
			left = left > looked_at ? left - looked_at : 0;
		}
		look.tries = 0;
		look.at = u->next;
	}
	if (!look.at)
		finish(now_ns);
}
