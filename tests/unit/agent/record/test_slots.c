/* SPDX-License-Identifier: MIT
 *
 * test_slots.c - slots by stack and epoch, counters by thread, what a collection reports, the peak.
 * Uses stacks of made-up addresses; the test process's own allocations have stacks of their own.
 */
#include "check.h"
#include "base/state.h"
#include "base/thread_list.h"
#include "base/types.h"
#include "record/slots.h"
#include "record/thread.h"
#include "unwind/stacks.h"

#include <memtop/wire.h>
#include <pthread.h>
#include <sched.h>

static node_id stack_of(uintptr_t pc)
{
	return mt_stacks_child(0, mt_stacks_code(pc, MTW_NODE_NOWHERE), NEED_WHOLE);
}

TEST(a_slot_per_stack_and_epoch)
{
	node_id a = stack_of(0x1111), b = stack_of(0x2222);
	slot_id first = mt_slots_of(a);

	CHECK(first != 0 && first == mt_slots_of(a));
	CHECK(mt_slots_of(b) != first);
	CHECK_EQ(mt_slots_at(first)->node, a);
	uint64_t epoch = mt_slots_at(first)->epoch;
	atomic_fetch_add(&mt_epoch, 1);
	slot_id second = mt_slots_of(a);
	CHECK(second != first);
	CHECK_EQ(mt_slots_at(second)->epoch, epoch + 1);
	CHECK_EQ(mt_slots_at(first)->epoch, epoch);
	CHECK(second < mt_slots_count());
}

TEST(counts_add_up)
{
	struct thread *t = mt_thread_self();
	slot_id s = mt_slots_of(stack_of(0x3333));
	struct tally sum;

	CHECK(mt_slots_alloc(t, s, 100));
	CHECK(mt_slots_alloc(t, s, (size_t)1 << 40));
	CHECK(mt_slots_free(mt_thread_shared(), s, 100));
	mt_slots_sum(s, &sum);
	CHECK_EQ(sum.alloc_blocks, 2);
	CHECK_EQ(sum.alloc_bytes, 100 + ((int64_t)1 << 40));
	CHECK_EQ(sum.free_blocks, 1);
	CHECK_EQ(sum.free_bytes, 100);
	mt_slots_free(t, s, (size_t)1 << 40);
}

static slot_id wanted;
static int seen;

static void changed(void *arg, slot_id s)
{
	(void)arg;
	seen += s == wanted;
}

/* A change shows in the collection after it, and at most two more times; then no longer. */
TEST(collections_report_what_changed)
{
	struct thread *t = mt_thread_self();

	for (int i = 0; i < 5000; i++) /* leaves of its own, far from this process's own stacks */
		wanted = mt_slots_of(stack_of(0x40000u + (unsigned)i));
	mt_slots_alloc(t, wanted, 1);
	mt_slots_collect(false, changed, NULL);
	CHECK_EQ(seen, 1);
	for (int i = 0; i < 3; i++)
		mt_slots_collect(false, changed, NULL);
	seen = 0;
	mt_slots_collect(false, changed, NULL);
	CHECK_EQ(seen, 0);
	mt_slots_collect(true, changed, NULL);
	CHECK_EQ(seen, 1);
	mt_slots_free(t, wanted, 1);
	seen = 0;
	mt_slots_collect(false, changed, NULL);
	CHECK_EQ(seen, 1);
}

enum { THREADS = 6, ROUNDS = 20000 };
static slot_id shared_slots[8];
static _Atomic int running;

static void *hammer(void *arg)
{
	struct thread *t = arg ? mt_thread_shared() : mt_thread_self();

	for (int i = 0; i < ROUNDS; i++) {
		mt_slots_alloc(t, shared_slots[i % 8], 10);
		if (i % 4)
			mt_slots_free(t, shared_slots[i % 8], 10);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

/* Live is never negative while threads run, and exact when they are done; two share one set. */
TEST(concurrent_counts)
{
	pthread_t id[THREADS];
	struct tally sum;
	uint64_t blocks = 0;

	for (int i = 0; i < 8; i++)
		shared_slots[i] = mt_slots_of(stack_of(0x5000u + (unsigned)i));
	running = THREADS;
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&id[i], NULL, hammer, i < 2 ? &running : NULL);
	while (atomic_load(&running)) {
		for (int i = 0; i < 8; i++) {
			mt_slots_sum(shared_slots[i], &sum);
			CHECK(sum.alloc_blocks >= sum.free_blocks &&
			      sum.alloc_bytes >= sum.free_bytes);
		}
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	for (int i = 0; i < 8; i++) {
		mt_slots_sum(shared_slots[i], &sum);
		CHECK_EQ(sum.alloc_blocks, THREADS * ROUNDS / 8);
		CHECK_EQ(sum.alloc_bytes, THREADS * ROUNDS / 8 * 10);
		blocks += sum.alloc_blocks - sum.free_blocks;
	}
	CHECK_EQ(blocks, THREADS * ROUNDS / 4);
}

TEST(peak_within_its_error)
{
	struct thread *t = mt_thread_self();
	slot_id s = mt_slots_of(stack_of(0x6666));
	uint64_t before, after, error, when;

	mt_slots_peak(&before, &error, &when);
	for (int i = 0; i < 1000; i++)
		mt_slots_alloc(t, s, 1 << 20);
	for (int i = 0; i < 1000; i++)
		mt_slots_free(t, s, 1 << 20);
	mt_slots_peak(&after, &error, &when);
	int64_t grown = (int64_t)(after - before) - ((int64_t)1000 << 20);
	CHECK(grown <= (int64_t)error && grown >= -2 * (int64_t)error);
	CHECK(error <= 64u << 20);
}

static uint64_t peak_error(void)
{
	uint64_t bytes, error, when;

	mt_slots_peak(&bytes, &error, &when);
	return error;
}

static _Atomic int ready;

static void *busy(void *arg)
{
	slot_id s = mt_slots_of(stack_of(0x9999));

	for (int i = 0; i < 20; i++)
		mt_slots_alloc(mt_thread_self(), s, 1 << 20);
	for (int i = 0; i < 20; i++)
		mt_slots_free(mt_thread_self(), s, 1 << 20);
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < 50)
		sched_yield();
	return arg;
}

static void *nothing(void *arg)
{
	free(malloc(10));
	return arg;
}

/* Each of 50 threads has held back all that a thread may; those that continue them have not. */
TEST(ended_threads_hold_back_nothing)
{
	struct thread *t = mt_thread_self();
	slot_id s = mt_slots_of(stack_of(0xaaaa));
	uint64_t before = peak_error();
	pthread_t id[50];

	for (int i = 0; i < 50; i++)
		pthread_create(&id[i], NULL, busy, NULL);
	for (int i = 0; i < 50; i++)
		pthread_join(id[i], NULL);
	for (int i = 0; i < 200; i++) {
		pthread_create(&id[0], NULL, nothing, NULL);
		pthread_join(id[0], NULL);
	}
	mt_slots_alloc(t, s, (size_t)4 << 30);
	CHECK(peak_error() < before + 50 * 4096);
	mt_slots_free(t, s, (size_t)4 << 30);
}

/* As if another thread had come: with counters, and no owner that could run. */
static struct thread *another(void)
{
	struct thread *t = calloc(1, sizeof(*t));

	mt_slots_thread_init(t);
	atomic_fetch_add(&mt_thread_states, 1);
	return t;
}

static int64_t off_the_peak(int64_t live)
{
	uint64_t peak, error, when;

	mt_slots_peak(&peak, &error, &when);
	CHECK((int64_t)peak - live <= (int64_t)error && live - (int64_t)peak <= (int64_t)error);
	return (int64_t)peak - live;
}

/* Many that live at once and allocate little: they cannot hold back more than that. */
TEST(threads_hold_back_what_they_allocate)
{
	slot_id s = mt_slots_of(stack_of(0xbbbb));
	uint64_t before = peak_error();

	for (int i = 0; i < 1000; i++)
		mt_slots_alloc(another(), s, 10);
	mt_slots_alloc(mt_thread_self(), s, (size_t)5 << 30);
	CHECK(peak_error() < before + 1000 * 1024);
}

/* Each holds back all that it may, by the rule of the day on which it came. */
TEST(peak_within_its_error_with_many_threads)
{
	slot_id s = mt_slots_of(stack_of(0x7777));
	int64_t live = 0;

	for (int i = 0; i < 3000; i++) {
		struct thread *t = another();
		for (int j = 0; j < 10; j++)
			mt_slots_alloc(t, s, 1 << 20);
		live += (10 << 20) + t->alloc_room;
		mt_slots_alloc(t, s, (size_t)t->alloc_room);
	}
	CHECK(off_the_peak(live) < -(64 << 20));
}

/* What one allocates the other frees, and says so later: the peak is seen where there was none. */
TEST(peak_within_its_error_either_way)
{
	struct thread *from = another(), *to = another();
	slot_id s = mt_slots_of(stack_of(0x8888));

	mt_slots_alloc(from, s, 32 << 20);
	mt_slots_free(to, s, 1);
	for (int i = 0; i < 1000; i++) {
		mt_slots_alloc(from, s, 1000);
		mt_slots_free(to, s, 1000);
	}
	CHECK(off_the_peak((32 << 20) + 999) > 0);
}

/* A state is handed on when its thread is gone; indices are not. */
TEST(states_are_continued)
{
	uint32_t states, indices;
	struct thread_info info;

	pthread_t id;
	pthread_create(&id, NULL, nothing, NULL);
	pthread_join(id, NULL);
	states = mt_thread_states;
	indices = mt_thread_count();
	for (int i = 0; i < 300; i++) {
		pthread_create(&id, NULL, nothing, NULL);
		pthread_join(id, NULL);
	}
	CHECK(mt_thread_states <= states + 1);
	CHECK_EQ(mt_thread_count(), indices + 300);
	CHECK(mt_thread_info(indices + 100, &info));
	CHECK(info.ended);
	CHECK(info.done.alloc_blocks >= 1 && info.done.alloc_bytes >= 10);
	CHECK(!mt_thread_info(indices + 300, &info));
}

/* Threads without an index of their own, too, add up to the totals when others continue them. */
TEST(rows_add_up_to_the_totals)
{
	struct thread_info info;
	struct tally totals;
	uint64_t blocks = 0, bytes = 0;

	for (uint32_t i = 0; i < MTW_THREADS_MAX + 100; i++) {
		pthread_t id;
		pthread_create(&id, NULL, nothing, NULL);
		pthread_join(id, NULL);
	}
	CHECK_EQ(mt_thread_count(), MTW_THREADS_MAX);
	for (uint32_t i = 0; i < MTW_THREADS_MAX; i++)
		if (mt_thread_info(i, &info)) {
			blocks += info.done.alloc_blocks;
			bytes += info.done.alloc_bytes;
		}
	mt_slots_totals(&totals);
	CHECK_EQ(blocks, totals.alloc_blocks);
	CHECK_EQ(bytes, totals.alloc_bytes);
}
