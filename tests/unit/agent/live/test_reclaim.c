/* SPDX-License-Identifier: MIT
 *
 * test_reclaim.c - numbers of origins come and go beside threads that allocate, and beside a fork.
 * The test is the server; its clock and its ticks run as fast as it likes.
 */
#include "check.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/types.h"
#include "live/reclaim.h"
#include "live/leaves.h"
#include "live/live.h"
#include "live/origins.h"
#include "live/quiescence.h"
#include "live/ticks.h"
#include "record/guard.h"
#include "record/loss.h"
#include "record/thread.h"

#include <memtop/wire.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BASE ((uintptr_t)0x123456000000 >> REGION_SHIFT << REGION_SHIFT)
#define SECOND_NS 1000000000u
#define SLOT 0xabc000u /* no block of this process itself has it, or a later one */

enum { THREADS = 3, SLOTS = 320, PLACES = 2048, PATHS = 256, BLOCKS = 500 };

static uint64_t now_ns = SECOND_NS;
static _Atomic bool enough;
static _Atomic uint64_t strange;

static void *at(uintptr_t offset)
{
	return (void *)(BASE + offset);
}

static void tick(void)
{
	mt_live_advance(now_ns, true);
}

static uint64_t used_again(void)
{
	uint64_t taken;
	uint32_t end;

	do {
		end = mt_origins_end();
		taken = mt_origins_taken();
	} while (end != mt_origins_end());
	return taken - (end - ORIGIN_FIRST);
}

/* Until so many numbers were handed out once more. The ticks, too, have an end. */
static void serve(void *(*work)(void *), uint64_t again)
{
	pthread_t thread[THREADS];
	uint64_t last = 0;

	mt_state_seal(SEAL_RIGHTS); /* no server but this test */
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, work, (void *)i));
	while (used_again() < again && mt_live_tick() < 60000) {
		if (mt_origins_taken() - last >= PATHS / 2) {
			last = mt_origins_taken();
			tick();
		}
		mt_live_reclaim(now_ns += SECOND_NS);
		sched_yield();
	}
	enough = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(strange, 0);
	CHECK(used_again() >= again);
}

static uint64_t next_random(uint64_t *seed)
{
	return *seed = *seed * 6364136223846793005u + 1442695040888963407u;
}

static bool same(const struct block *a, const struct block *b)
{
	return a->size == b->size && a->slot == b->slot && a->tick == b->tick &&
	       a->thread == b->thread;
}

/* As an event does: guard, number, entry. */
static bool enters(struct thread *t, void *p, struct counter_page *leaf, struct block *b)
{
	struct block old;

	guard_in(t, (uintptr_t)__builtin_frame_address(0));
	uint32_t entry = live_entry(t, leaf, b->slot);
	*b = origin_block(live_origin(mt_live_open, entry), b->size);
	bool done = mt_live_ready(p, b->size) &&
		    mt_live_enter(t, p, b->size, b->slot, entry, &old) == LIVE_ENTERED;
	guard_out(t);
	return done;
}

static bool restores(struct thread *t, void *p, const struct block *b)
{
	struct block old;

	guard_in(t, (uintptr_t)__builtin_frame_address(0));
	bool done = mt_live_restore(t, p, b, &old) == LIVE_ENTERED;
	guard_out(t);
	return done;
}

/* Made up blocks, of many slots, at even and odd addresses. A quarter of those taken are restored,
 * as by a realloc that fails. */
static void *churns(void *arg)
{
	static struct counter_page leaves[THREADS][SLOTS / PAGE_SLOTS];
	static struct block table[THREADS][PLACES];
	struct thread *t = mt_thread_self();
	uintptr_t mine = (uintptr_t)arg;
	uint64_t seed = mine;

	while (!enough) {
		next_random(&seed);
		unsigned place = seed >> 20 & (PLACES - 1), slot = (seed >> 33) % SLOTS;
		void *p = at((mine * PLACES + place) * 64 + (place % 4 ? 0 : 8));
		struct block *b = &table[mine][place];
		if (!b->slot) {
			*b = (struct block){ .size = (seed >> 50) % 1000,
					     .slot = SLOT + (slot_id)mine * SLOTS + slot };
			struct block is = *b;
			strange += !enters(t, p, &leaves[mine][slot / PAGE_SLOTS], b) ||
				   b->slot != is.slot || b->size != is.size;
			continue;
		}
		struct block is = mt_live_take(p);
		strange += !same(&is, b);
		if (seed >> 62)
			b->slot = 0;
		else
			strange += !restores(t, p, b);
	}
	return NULL;
}

TEST(threads_enter_and_take_while_numbers_are_given_back)
{
	serve(churns, 200000);
}

/* A stack for each path. */
static __attribute__((noinline)) void *from(unsigned path, size_t size)
{
	void *p;

	if (path < 2) {
		p = malloc(size);
	} else if (path & 1) {
		p = from(path >> 1, size);
		__asm__ volatile("nop" : "+r"(p));
	} else {
		p = from(path >> 1, size);
		__asm__ volatile("nop; nop" : "+r"(p));
	}
	__asm__ volatile("" : "+r"(p));
	return p;
}

static void *allocates(void *arg)
{
	static struct block table[THREADS][BLOCKS];
	static void *p[THREADS][BLOCKS];
	uintptr_t mine = (uintptr_t)arg;
	uint64_t seed = mine;
	struct block is;

	while (!enough) {
		next_random(&seed);
		unsigned i = (seed >> 20) % BLOCKS, path = PATHS + (seed >> 33) % PATHS;
		struct block *b = &table[mine][i];
		void **at = &p[mine][i];
		if (*at) {
			strange += !mt_live_peek(*at, &is) || !same(&is, b);
			free(*at);
			*at = NULL;
			continue;
		}
		*at = from(path, (seed >> 50) % 1000);
		if (seed >> 62 == 0)
			*at = realloc(*at, 1 + (seed >> 40) % 500);
		strange += !mt_live_peek(*at, b) || !b->slot;
	}
	return NULL;
}

TEST(malloc_goes_on_while_numbers_are_given_back)
{
	static const unsigned losses[] = { MTW_LOSS_UNKNOWN_FREE, MTW_LOSS_UNSEEN_FREE,
					   MTW_LOSS_SHADOW };
	uint64_t before[3], after, bytes;

	for (int i = 0; i < 3; i++)
		mt_record_losses(losses[i], &before[i], &bytes);
	serve(allocates, 100000);
	for (int i = 0; i < 3; i++) {
		mt_record_losses(losses[i], &after, &bytes);
		CHECK_EQ(after, before[i]);
	}
}

enum { TAKEN = 70000, ENTERED = 6144 }; /* pages of entries: more than one call reads */

static struct thread owner = { .xindex = 77 };
static uint32_t taken[TAKEN];

static void *own_page(unsigned i)
{
	return at((uintptr_t)i * (mt_prim_page_bytes() / sizeof(small_entry))
		  << mt_live_granule_shift);
}

static unsigned count_free(unsigned begin, unsigned end)
{
	unsigned n = 0;

	for (unsigned i = begin; i < end; i++)
		n += (mt_live_open->origin[taken[i] >> LARGE_SHIFT] & ORIGIN_FREE) != 0;
	return n;
}

static void collect(int calls)
{
	for (int i = 0; i < calls; i++)
		mt_live_reclaim(now_ns += SECOND_NS);
}

/* What the parent's round has marked has no block here. */
static int in_child(void)
{
	free(malloc(1));
	mt_pid = mt_own_pid; /* as when its server starts */
	for (unsigned i = 0; i < ENTERED; i++)
		if (mt_live_take(own_page(i)).slot != SLOT + i)
			return 2;
	collect(20);
	return count_free(0, TAKEN) != TAKEN;
}

TEST(a_child_forked_in_the_middle_of_a_round_begins_its_own)
{
	struct block old;
	int status;

	mt_state_seal(SEAL_RIGHTS);
	for (unsigned i = 0; i < TAKEN; i++)
		taken[i] = mt_origins_entry_of_one(&owner, SLOT + i);
	for (unsigned i = 0; i < ENTERED; i++)
		CHECK(mt_live_ready(own_page(i), 9) &&
		      mt_live_enter(&owner, own_page(i), 9, SLOT + i, taken[i], &old) ==
			      LIVE_ENTERED);
	tick();
	collect(1);
	CHECK_EQ(count_free(0, TAKEN), 0); /* it has begun, and is not over */
	pid_t child = fork();
	if (!child)
		_exit(in_child());
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	collect(20);
	CHECK_EQ(count_free(0, ENTERED), 0);
	CHECK_EQ(count_free(ENTERED, TAKEN), TAKEN - ENTERED);
}

/* What a detach leaves in the states of threads that have not come back. */
TEST(threads_whose_session_is_over_delay_nothing)
{
	struct thread *t = mt_thread_self();

	mt_state_seal(SEAL_RIGHTS);
	CHECK(mt_live_quiescent());
	t->busy_sp = BUSY_OVER;
	CHECK(mt_live_quiescent());
	t->busy_sp = BUSY_OVERRUN; /* it may still enter its block */
	CHECK(!mt_live_quiescent());
	t->busy_sp = 0;
}

enum { FEW = 16, HELD_AT_ONCE = 3, POPPERS = 4, POPS = 100000 };
enum { ON_STACK, HELD, OVER };

static uint32_t first_of_few;
static _Atomic int xstate[FEW];
static _Atomic uint64_t xpops; /* the threads' */

/* 0: all are taken. */
static uint32_t take_one(void)
{
	uint32_t n = mt_origins_entry_of_one(&owner, SLOT) >> LARGE_SHIFT, i = n - first_of_few;

	if (!n)
		return 0;
	strange += i >= FEW || atomic_exchange(&xstate[i % FEW], HELD) != ON_STACK;
	return n;
}

/* Holds some numbers at a time. */
static void *pops(void *arg)
{
	uint32_t held[HELD_AT_ONCE] = { 0 };

	for (unsigned i = 0; !enough; i++) {
		uint32_t *place = &held[i % HELD_AT_ONCE];
		if (*place)
			xstate[(*place - first_of_few) % FEW] = OVER;
		*place = take_one();
		if (*place)
			xpops++;
		else
			sched_yield();
	}
	return arg;
}

static void give(uint32_t n)
{
	if (!n)
		return;
	xstate[(n - first_of_few) % FEW] = ON_STACK;
	mt_origins_give_back(n, n);
}

/* Links those that nobody holds, as a round does. */
static void give_chain(void)
{
	uint32_t first = 0, last = 0;

	for (uint32_t i = 0, n = first_of_few; i < FEW; i++, n++) {
		if (xstate[i] != OVER)
			continue;
		xstate[i] = ON_STACK;
		if (first)
			mt_live_open->origin[n] = ORIGIN_FREE | first;
		else
			last = n;
		first = n;
	}
	if (first)
		mt_origins_give_back(first, last);
}

/* Who pops meanwhile finds the same number on top again, but what was below it is taken. */
static void give_and_take(void)
{
	static uint32_t held;

	give_chain();
	for (int i = 0; i < 20; i++) {
		uint32_t top = take_one(), below = take_one();
		give(top);
		give(held);
		held = below;
	}
}

TEST(a_number_is_handed_out_to_one_at_a_time)
{
	pthread_t thread[POPPERS];

	mt_state_seal(SEAL_RIGHTS);
	first_of_few = mt_origins_end();
	while (mt_origins_entry_of_one(&owner, SLOT))
		;
	for (int i = 0; i < POPPERS; i++)
		CHECK(!pthread_create(&thread[i], NULL, pops, NULL));
	for (int i = 0; i < FEW; i++)
		xstate[i] = OVER;
	while (!strange && xpops < POPS)
		give_and_take();
	enough = true;
	for (int i = 0; i < POPPERS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	CHECK_EQ(strange, 0);
}
