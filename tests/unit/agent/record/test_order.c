/* SPDX-License-Identifier: MIT
 *
 * test_order.c - publications between threads are ordered, even on processors with weak ordering.
 *
 * ThreadSanitizer knows the C memory model: on any processor it reports a plain store that another
 * thread reads without a release and an acquire in between. So tests.mk compiles this file and the
 * tested sources with it; stubs for the other parts follow below. The test's threads do not
 * synchronise with each other themselves.
 */
#include "check.h"
#include "../unwind/paths.h"
#include "base/area.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/types.h"
#include "hooks/gate.h"
#include "hooks/init.h"
#include "live/reclaim.h"
#include "live/live.h"
#include "live/origins.h"
#include "live/sampled.h"
#include "live/scan.h"
#include "live/session.h"
#include "live/ticks.h"
#include "modules/maps.h"
#include "record/filter.h"
#include "record/loss.h"
#include "record/slots.h"
#include "record/thread.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <memtop/wire.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define ROUNDS 3000

struct conf mt_conf;
_Atomic uint32_t mt_filter_on;

/* clang-format off */
bool mt_init_early(void) { return true; }
void mt_init_dormant(void) { }
void mt_init_forked(void) { _exit(3); } /* nobody forks here: somebody was mistaken for a child */
void mt_unwind_thread_end(struct thread *t) { (void)t; }
void mt_filter_renew(struct filtering *f, uint32_t on) { (void)f; (void)on; }
void mt_msg(const char *format, ...) { (void)format; }
size_t mt_format(char *buf, size_t size, const char *format, ...)
{
	(void)format;
	return *buf = 0, size;
}
void mt_record_loss(unsigned reason, uint64_t bytes) { (void)reason; (void)bytes; }
struct module *mt_maps_find(uintptr_t pc) { (void)pc; return NULL; }
void *mt_prim_map_large(size_t bytes) { (void)bytes; return NULL; }
void *mt_prim_map_at(uintptr_t place, size_t bytes) { (void)place; (void)bytes; return NULL; }
void mt_prim_unmap(void *p, size_t bytes) { munmap(p, bytes); }
uintptr_t mt_area_place(size_t bytes) { (void)bytes; return 0; }
/* clang-format on */
/* Not base/area.c's: a sanitizer lets nobody map where that does. */
void *mt_prim_map(size_t bytes, bool reserve_only)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (reserve_only ? MAP_NORESERVE : 0), -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static _Atomic bool xover; /* relaxed: it orders nothing */
static char blocks[1 << 16];

static bool over(void)
{
	return atomic_load_explicit(&xover, memory_order_relaxed);
}

static void set_up(void)
{
	atomic_store(&mt_state, AGENT_ON);
	mt_stacks_init();
	CHECK(mt_thread_init() && mt_live_init(16));
	mt_live_advance(0, false);
}

/* New nodes, a slot each, a block in each slot, and its entry in the map. */
static void *allocates(void *arg)
{
	struct thread *t = mt_gate_slow();

	for (unsigned i = 1; i <= ROUNDS; i++) {
		char *p = &blocks[i % 1024 * 64];
		struct block b;
		node_id node = mt_stacks_child(
			mt_stacks_child(0, mt_stacks_code(4096 + i % 64, MTW_NODE_CODE),
					NEED_WHOLE),
			mt_stacks_code(8192 + i, MTW_NODE_CODE), NEED_WHOLE);
		slot_id slot = mt_slots_of(node);
		mt_slots_alloc(t, slot, i % 3 ? 100 : 0);
		if (!mt_live_ready(p, 100))
			_exit(4);
		mt_live_enter(t, p, 100, slot, LIVE_OF_ITS_OWN, &b);
		if (i % 7)
			mt_slots_free(t, mt_live_take(p).slot, 100);
	}
	atomic_store_explicit(&xover, true, memory_order_relaxed);
	return arg;
}

static uint64_t seen_codes;

static void look_at(slot_id s)
{
	const struct slot *slot = mt_slots_at(s);

	for (node_id n = slot->node; n; n = node_parent(mt_stacks_node(n)))
		seen_codes += mt_stacks_code_at(node_code(mt_stacks_node(n)))->pc + slot->epoch +
			      slot->rate;
	if (!slot->node)
		_exit(5);
}

static void changed(void *arg, slot_id s)
{
	struct tally sum;

	(void)arg;
	mt_slots_sum(s, &sum);
	if (sum.alloc_blocks || sum.alloc_bytes || sum.free_blocks || sum.free_bytes)
		look_at(s);
}

static void at_block(void *arg, uintptr_t addr, const struct block *b)
{
	(void)arg;
	(void)addr;
	look_at(b->slot);
}

static void with_a_thread(void *(*work)(void *), void (*reader)(void))
{
	pthread_t t;

	set_up();
	CHECK(!pthread_create(&t, NULL, work, NULL));
	while (!over())
		reader();
	reader(); /* the thread may have been quicker than the first look */
	CHECK(!pthread_join(t, NULL));
}

static void sums(void)
{
	mt_slots_collect(false, changed, NULL);
}

static void entries(void)
{
	mt_live_scan(at_block, NULL);
}

TEST(slots_by_their_sums)
{
	with_a_thread(allocates, sums);
	CHECK(seen_codes);
}

TEST(slots_by_the_live_map)
{
	with_a_thread(allocates, entries);
	CHECK(seen_codes);
}

/* Blocks of two owners in one KiB, each with a new slot. */
static void *samples(void *offset)
{
	struct thread *t = mt_gate_slow();
	char *p = (char *)(((uintptr_t)blocks | 1023) + 1 + (uintptr_t)offset);

	for (unsigned i = 1; i <= ROUNDS; i++) {
		struct block old;
		code_id code = mt_stacks_code(1 + i + 65536 * (uintptr_t)offset, MTW_NODE_CODE);
		slot_id slot = mt_slots_of(mt_stacks_child(0, code, NEED_WHOLE));
		if (!mt_live_ready(p, 100) ||
		    mt_live_enter(t, p, 100, slot, LIVE_OF_ITS_OWN, &old) != LIVE_ENTERED)
			_exit(9);
		if (mt_live_take(p).slot != slot)
			_exit(10);
	}
	atomic_store_explicit(&xover, true, memory_order_relaxed);
	return NULL;
}

TEST(sampled_blocks_by_the_live_map)
{
	pthread_t t[2];

	set_up();
	CHECK(mt_live_few_begin());
	for (uintptr_t i = 0; i < 2; i++)
		CHECK(!pthread_create(&t[i], NULL, samples, (void *)(i * 512)));
	while (!over())
		entries();
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(t[i], NULL));
}

#define NUMBERS 90000 /* after 65,536 there is a round */
#define OWN_SLOTS 256

/* A block in each of these slots at a time, with a new number in each tick. */
static void *takes_numbers(void *arg)
{
	static struct counter_page leaves[OWN_SLOTS / PAGE_SLOTS];
	static slot_id slot[OWN_SLOTS];
	struct thread *t = mt_gate_slow();

	for (unsigned i = 0; i < OWN_SLOTS; i++) {
		code_id code = mt_stacks_code(1 + i, MTW_NODE_CODE);
		slot[i] = mt_slots_of(mt_stacks_child(0, code, NEED_WHOLE));
	}
	for (unsigned i = 0; mt_origins_taken() < NUMBERS; i++) {
		char *p = &blocks[i % 1024 * 64];
		slot_id s = slot[i % OWN_SLOTS];
		struct block b, old;
		if (!mt_live_ready(p, 100))
			_exit(11);
		__atomic_store_n(&t->busy_sp, (uintptr_t)&b, __ATOMIC_RELAXED);
		uint32_t entry = live_entry(t, &leaves[i % OWN_SLOTS / PAGE_SLOTS], s);
		if (!entry || mt_live_enter(t, p, 100, s, entry, &old) != LIVE_ENTERED)
			_exit(12);
		__atomic_store_n(&t->busy_sp, 0, __ATOMIC_RELAXED);
		b = mt_live_take(p);
		if (b.slot != s || b.size != 100)
			_exit(13);
	}
	atomic_store_explicit(&xover, true, memory_order_relaxed);
	return arg;
}

/* What the server does at a tick. One ends when many slots had their number: ticks have an end. */
static void serves(void)
{
	static uint64_t now_ns, last;

	mt_live_reclaim(now_ns += 1000000000);
	if (mt_origins_taken() - last < OWN_SLOTS / 2)
		return;
	last = mt_origins_taken();
	mt_live_advance(now_ns, true);
	if (mt_live_tick() % 64 == 0)
		entries();
}

TEST(numbers_of_origins)
{
	with_a_thread(takes_numbers, serves);
	CHECK(mt_origins_end() < NUMBERS); /* some were handed out once more */
}

#define WRITERS 2
#define BRANCHES 4000

static node_id reached[WRITERS][BRANCHES];
static _Atomic int xwriters;

/* Each of them makes the same paths, so both fill, race for and read every list. */
static void *branches(void *arg)
{
	node_id *mine = arg;
	uint32_t seed = 3;

	atomic_fetch_add_explicit(&xwriters, 1, memory_order_relaxed);
	while (atomic_load_explicit(&xwriters, memory_order_relaxed) < WRITERS)
		sched_yield(); /* so that they meet, unordered */
	for (int i = 0; i < BRANCHES; i++) {
		code_id code[8];
		for (uint32_t at = 0; at < 8; at++) {
			seed = seed * 1664525u + 1013904223u;
			code[at] = 1 + (seed >> 8) % (2 + at * 4);
		}
		mine[i] = path(code, 8);
	}
	return arg;
}

TEST(paths_of_two_writers)
{
	pthread_t t[WRITERS];

	mt_stacks_init();
	for (uintptr_t pc = 1; pc <= 64; pc++)
		mt_stacks_code(pc, MTW_NODE_CODE);
	for (int i = 0; i < WRITERS; i++)
		CHECK(!pthread_create(&t[i], NULL, branches, reached[i]));
	for (int i = 0; i < WRITERS; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(!memcmp(reached[0], reached[1], sizeof(*reached)));
	CHECK(mt_stacks_check());
}

static void *counts(void *arg)
{
	struct thread *t = mt_gate_slow();

	for (int i = 0; i < 20; i++)
		mt_slots_alloc(t, SLOT_ROOT, 10);
	return arg;
}

static void *thread_after_thread(void *arg)
{
	for (int i = 0; i < ROUNDS / 10; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, counts, NULL) || pthread_join(t, NULL))
			_exit(6);
	}
	atomic_store_explicit(&xover, true, memory_order_relaxed);
	return arg;
}

/* No row's figures go back, or show another's. */
static void rows(void)
{
	static uint64_t before[ROUNDS];

	for (uint32_t i = 1, n = mt_thread_count(); i < n && i < ROUNDS; i++) {
		struct thread_info info;
		if (!mt_thread_info(i, &info))
			continue;
		if (info.done.alloc_blocks < before[i] || info.done.alloc_blocks > 20)
			_exit(7);
		before[i] = info.done.alloc_blocks;
	}
}

/* Before there are states, and then: this is no child. */
static _Atomic bool xasking;

static void *asks(void *arg)
{
	while (!over()) {
		if (mt_thread_forked())
			_exit(8);
		atomic_store_explicit(&xasking, true, memory_order_relaxed);
	}
	return arg;
}

TEST(nobody_is_taken_for_a_child)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, asks, NULL));
	while (!atomic_load_explicit(&xasking, memory_order_relaxed))
		;
	set_up();
	atomic_store_explicit(&xover, true, memory_order_relaxed);
	CHECK(!pthread_join(t, NULL));
}

TEST(rows_of_threads)
{
	with_a_thread(thread_after_thread, rows);
}
