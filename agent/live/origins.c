/* SPDX-License-Identifier: MIT
 *
 * origins.c - hands out the numbers of origins. live/origins.h has the design.
 */
#include "live/origins.h"
#include "base/compiler.h"
#include "live/leaves.h"

#include <string.h>

static _Atomic uint32_t xend = ORIGIN_FIRST; /* numbers below it have been handed out */
static _Atomic uint64_t xfree;               /* pops so far 32 | the number on top 32 */
static uint32_t first, last; /* linked, and not yet given back; 0 = none. Server thread */

static _Atomic uint64_t *origin_at(uint32_t number)
{
	return &atomic_load_explicit(&mt_live_open, memory_order_relaxed)->origin[number];
}

static uint64_t popped(uint64_t head, uint64_t next)
{
	return ((head >> 32) + 1) << 32 | (uint32_t)next;
}

/* What is read as the next one may be another thread's origin by then: the swap fails. */
static uint32_t pop(void)
{
	uint64_t head = atomic_load_explicit(&xfree, memory_order_acquire);

	while ((uint32_t)head) {
		uint64_t next =
			atomic_load_explicit(origin_at((uint32_t)head), memory_order_relaxed);
		if (atomic_compare_exchange_weak(&xfree, &head, popped(head, next)))
			break;
	}
	return (uint32_t)head;
}

static uint32_t take_number(void)
{
	uint32_t n = pop();

	if (n)
		return n;
	n = atomic_load_explicit(&xend, memory_order_relaxed);
	do {
		if (n >= ORIGINS || unlikely(!mt_live_has_origin(n)))
			return ORIGIN_NONE;
	} while (!atomic_compare_exchange_weak(&xend, &n, n + 1));
	return n;
}

static uint32_t new_entry(uint64_t origin)
{
	uint32_t n = take_number();

	if (unlikely(!n))
		return 0;
	atomic_store_explicit(origin_at(n), origin, memory_order_release);
	return n << LARGE_SHIFT;
}

/* A handler that leaves by a jump may cut this anywhere: the page says last what it has. */
MT_COLD static void forget(struct counter_page *page, uint64_t born)
{
	page->origins_of = 0;
	atomic_signal_fence(memory_order_seq_cst);
	memset(page->origin, 0, sizeof(page->origin));
	atomic_signal_fence(memory_order_seq_cst);
	page->origins_of = born;
}

static uint64_t origin_of(slot_id slot, uint64_t born)
{
	return (born >> NOW_ROUND & 1 ? ORIGIN_ROUND : 0) |
	       origin_pack(slot, born >> NOW_TICK & 0xffff, born & 0x3fff);
}

uint32_t mt_origins_entry(struct counter_page *page, slot_id slot, uint64_t born)
{
	if (page->origins_of != born)
		forget(page, born);
	uint32_t entry = new_entry(origin_of(slot, born));
	page->origin[slot % PAGE_SLOTS] = entry;
	return entry;
}

uint32_t mt_origins_entry_of_one(const struct thread *t, slot_id slot)
{
	return new_entry(origin_of(slot, origins_born(t)));
}

/* The pop counted here lets a late one fail. */
void mt_origins_restart(void)
{
	uint64_t head = atomic_load(&xfree);

	while (!atomic_compare_exchange_weak(&xfree, &head, popped(head, 0)))
		;
	first = 0;
	mt_live_origins_drop();
}

uint32_t mt_origins_end(void)
{
	return atomic_load(&xend);
}

uint64_t mt_origins_taken(void)
{
	return mt_origins_end() - ORIGIN_FIRST + (atomic_load(&xfree) >> 32);
}

bool mt_origins_left(void)
{
	return (uint32_t)atomic_load(&xfree) || mt_origins_end() < ORIGINS;
}

/* The end is read first: of a number that is handed out later, a thread may be about to write the
 * word. */
struct round mt_origins_begin(void)
{
	struct round r = { mt_origins_end(), mt_live_tick() };

	mt_live_next_round();
	return r;
}

static void link(uint32_t number, uint32_t next)
{
	atomic_store_explicit(origin_at(number), ORIGIN_FREE | next, memory_order_relaxed);
}

void mt_origins_give_back(uint32_t top, uint32_t bottom)
{
	uint64_t head = atomic_load_explicit(&xfree, memory_order_relaxed);

	do
		link(bottom, (uint32_t)head);
	while (!atomic_compare_exchange_weak(&xfree, &head, (head & ~(uint64_t)UINT32_MAX) | top));
}

/* A fork in the middle loses the chain, or its child gives it back: never both. */
static void give_chain_back(void)
{
	uint32_t top = first;

	first = 0;
	if (top)
		mt_origins_give_back(top, last);
}

MT_FORK_CODE void mt_origins_forked(void)
{
	give_chain_back();
}

/* Can no thread enter a block with it any more? */
static bool is_over(uint64_t origin, uint32_t tick)
{
	bool now = atomic_load_explicit(&mt_live_now, memory_order_relaxed) >> NOW_ROUND & 1;

	return !origin || !(origin & ORIGIN_ROUND) == now || origin_block(origin, 0).tick < tick;
}

uint32_t mt_origins_sweep(struct round r, const uint64_t *mark)
{
	uint32_t in_use = 0;

	for (uint32_t n = ORIGIN_FIRST; n < r.end; n++) {
		uint64_t origin = atomic_load_explicit(origin_at(n), memory_order_relaxed);
		bool marked = mark[n / 64] >> n % 64 & 1;
		if (origin & ORIGIN_FREE)
			continue;
		if (marked || !is_over(origin, r.tick)) {
			in_use++;
			continue;
		}
		if (!first)
			last = n;
		link(n, first);
		first = n;
	}
	give_chain_back();
	return in_use;
}
