/* SPDX-License-Identifier: MIT
 *
 * test_record.c - where events are counted: in the last stack's slot while the stack stays the
 * same, in the thread's own counters unless it is in the middle of an update. The agent records the
 * test's own malloc.
 */
#include "check.h"
#include "base/stack_bounds.h"
#include "base/state.h"
#include "base/types.h"
#include "live/live.h"
#include "modules/maps.h"
#include "record/cost.h"
#include "record/slots.h"
#include "record/thread.h"
#include "unwind/cache.h"
#include "unwind/stacks.h"

#include <dlfcn.h>
#include <memtop/wire.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noipa))
#define HERE __asm__ volatile("" ::: "memory")

/*
 * One place that allocates, and two ways to it. Loops count in volatiles: a call that the compiler
 * writes down twice is two places.
 */
KEEP static struct block allocate(size_t bytes)
{
	struct block b = { 0, 0, 0, 0 };
	void *p = malloc(bytes);

	mt_live_peek(p, &b);
	free(p);
	return b;
}

KEEP static struct block one_way(size_t bytes)
{
	struct block b = allocate(bytes);

	HERE;
	return b;
}

KEEP static struct block other_way(size_t bytes)
{
	struct block b = allocate(bytes);

	HERE;
	return b;
}

TEST(one_stack_is_one_slot)
{
	static struct block (*const ways[2])(size_t) = { one_way, other_way };
	slot_id slot[2] = { 0, 0 };

	for (volatile unsigned i = 0; i < 40; i++) {
		size_t bytes = i % 3 == 2 ? 5000 + i : 50 + i; /* large ones between small ones */
		struct block b = ways[i / 4 % 2](bytes);
		slot_id *s = &slot[i / 4 % 2];
		CHECK(b.slot != 0);
		CHECK(!*s || *s == b.slot);
		CHECK_EQ(b.size, bytes);
		CHECK_EQ(b.thread, mt_thread_self()->xindex);
		*s = b.slot;
	}
	CHECK(slot[0] != slot[1]);
	CHECK(mt_slots_at(slot[0])->node != mt_slots_at(slot[1])->node);
}

/* More frames than a hit has room for, and their last call in two places. */
KEEP static struct block deep(int frames, bool other)
{
	struct block b = frames ? deep(frames - 1, other) : other ? other_way(90) : one_way(90);

	HERE;
	return b;
}

TEST(deep_stacks_alternate_with_shallow_ones)
{
	slot_id slot[8] = { 0 };

	for (volatile unsigned i = 0; i < 64; i++) {
		unsigned kind = i * 5 / 3 % 8;
		slot_id s = deep(kind & 4 ? 80 : (int)(kind & 2), kind & 1).slot;
		CHECK(s != 0 && (!slot[kind] || slot[kind] == s));
		slot[kind] = s;
	}
	CHECK(slot[4] == slot[6] && slot[5] == slot[7]);
	for (unsigned i = 0; i < 6; i++)
		for (unsigned j = 0; j < i; j++)
			CHECK(slot[i] != slot[j]);
}

/* One of 2^levels stacks. */
KEEP static slot_id branch(unsigned levels, unsigned which)
{
	slot_id s;

	if (!levels)
		return allocate(60).slot;
	if (which & 1) {
		s = branch(levels - 1, which / 2);
		__asm__ volatile("nop"); /* unlike the other call */
	} else {
		s = branch(levels - 1, which / 2);
	}
	HERE;
	return s;
}

/* Where every stack is another one, hits are no use: they are left alone, until one stack repeats.
 */
TEST(many_stacks_are_only_captured)
{
	static slot_id slot[1024];
	struct thread *t = mt_thread_self();
	uint64_t passes = 0;

	for (volatile unsigned i = 0; i < 2400; i++) {
		unsigned which = i < 2048 ? i % 1024 : 5;
		slot_id s = branch(10, which);
		CHECK(s && (!slot[which] || s == slot[which]));
		slot[which] = s;
		if (i >= 500 && i < 700)
			CHECK(t->bare);
		if (i == 2200)
			passes = t->unwind->passes;
	}
	CHECK(!t->bare);
	CHECK_EQ(t->unwind->passes, passes);
}

static void touch(volatile char *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* Over-aligned frames of unknown size: each is left by three words, so few have more than a hit has
 * room for. */
KEEP static struct block aligned(int frames)
{
	volatile char wide[64] __attribute__((aligned(64))),
		*more = __builtin_alloca((size_t)frames + 1);

	touch(wide);
	touch(more);
	struct block b = frames ? aligned(frames - 1) : allocate(90);
	HERE;
	return b;
}

/* With as few frames as can be around them. */
static void *begins_with_aligned(void *unused)
{
	for (volatile int frames = 0; frames < 24; frames++) {
		slot_id last = 0;
		for (volatile int i = 0; i < 4; i++) {
			slot_id s = aligned(frames).slot;
			CHECK(s != 0 && (!last || s == last));
			last = s;
		}
	}
	return unused;
}

TEST(few_frames_may_have_many_words)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, begins_with_aligned, NULL), 0);
	pthread_join(thread, NULL);
}

TEST(an_epoch_ends_what_is_remembered)
{
	slot_id last = 0;
	node_id node = 0;

	for (volatile int i = 0; i < 12; i++) {
		if (i % 4 == 0)
			mt_slots_next_epoch();
		slot_id s = one_way(60).slot;
		CHECK_EQ(mt_slots_at(s)->epoch, atomic_load(&mt_epoch));
		CHECK(i % 4 == 0 ? s != last : s == last);
		CHECK(!node || node == mt_slots_at(s)->node);
		node = mt_slots_at(s)->node;
		last = s;
	}
}

/* to be called once, when the next stack that is new is looked up */
static void (*in_capture)(void);

int _dl_find_object(void *pc, struct dl_find_object *result)
{
	int (*real)(void *, struct dl_find_object *);
	void (*now)(void) = in_capture;

	in_capture = NULL;
	if (now)
		now();
	*(void **)&real = dlsym(RTLD_NEXT, "_dl_find_object");
	return real(pc, result);
}

static void set_mark(void)
{
	mt_slots_next_epoch();
}

static sem_t met;

/* The first block makes the stack's slot; a mark is set before the second, whose frames are walked
 * again. */
static void *meets_a_mark(void *second)
{
	uint64_t before = atomic_load(&mt_epoch);

	other_way(60); /* counters for both slots */
	in_capture = second ? set_mark : NULL;
	for (volatile int i = 0; i < 4; i++) {
		struct block b = one_way(60);
		CHECK_EQ(atomic_load(&mt_epoch), before + (second != NULL));
		CHECK(i == 0 || mt_slots_at(b.slot)->epoch == atomic_load(&mt_epoch));
	}
	if (!second) {
		sem_post(&met);
		pause(); /* so that the second gets no state that has met them */
	}
	return NULL;
}

/* As by another thread: what is concluded while a mark is set must not outlive it. */
TEST(a_mark_within_a_capture_ends_what_it_concludes)
{
	pthread_t thread[2];

	sem_init(&met, 0, 0);
	CHECK_EQ(pthread_create(&thread[0], NULL, meets_a_mark, NULL), 0);
	sem_wait(&met);
	CHECK_EQ(pthread_create(&thread[1], NULL, meets_a_mark, &in_capture), 0);
	pthread_join(thread[1], NULL);
	pthread_cancel(thread[0]);
	pthread_join(thread[0], NULL);
}

/* All its frames in one page, with the thread's control block above them. */
static void *goes_no_deeper(void *unused)
{
	for (volatile int i = 0; i < 2; i++) /* the first makes the slot */
		one_way(40);
	CHECK(mt_thread_self()->last != &mt_thread_self()->none);
	return unused;
}

TEST(a_shallow_thread_is_remembered)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, goes_no_deeper, NULL), 0);
	pthread_join(thread, NULL);
}

static void *is_of_its_thread(void *unused)
{
	for (volatile int i = 0; i < 3; i++)
		CHECK_EQ(one_way(40).thread, mt_thread_self()->xindex);
	return unused;
}

/* On the same stack, at the same time, in pages that the kernel does not take back. */
TEST(a_thread_forgets_its_predecessor_also_in_locked_memory)
{
	pthread_t thread;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return;
	for (volatile int i = 0; i < 3; i++) {
		CHECK_EQ(pthread_create(&thread, NULL, is_of_its_thread, NULL), 0);
		pthread_join(thread, NULL);
	}
}

TEST(a_suspicion_changes_nothing_by_itself)
{
	slot_id last = 0;

	for (volatile int i = 0; i < 6; i++) {
		slot_id s = one_way(70).slot;
		CHECK(!last || s == last);
		last = s;
		mt_maps_invalidate();
	}
}

/* Small and large blocks by turns, all from one place: its slot. */
KEEP static slot_id many(int n)
{
	slot_id s = 0;

	for (volatile int i = 0; i < n; i++)
		s = one_way(i % 2 ? 3000 : 80).slot;
	return s;
}

TEST(counters_follow_each_event)
{
	struct thread *t = mt_thread_self();
	struct tally sum[2];
	uint64_t all[2];

	for (volatile int i = 0; i < 2; i++) {
		mt_slots_sum(many(10000), &sum[i]);
		all[i] = t->total.xalloc_blocks;
	}
	CHECK_EQ(sum[1].alloc_blocks - sum[0].alloc_blocks, 10000);
	CHECK_EQ(sum[1].free_blocks - sum[0].free_blocks, 10000);
	CHECK_EQ(sum[1].alloc_bytes - sum[0].alloc_bytes, 5000 * 3080);
	CHECK_EQ(sum[1].free_bytes - sum[0].free_bytes, 5000 * 3080);
	CHECK_EQ(all[1] - all[0], 10000);
	CHECK(t->cost.timed.samples > 0); /* some were timed */
}

TEST(time_without_the_cpu_is_no_cost)
{
	struct timed t = { 0 };

	cost_add(&t, 30);
	cost_add(&t, TIMED_MAX_NS + 1);
	cost_add(&t, 50);
	CHECK_EQ(t.samples, 2);
	CHECK_EQ(t.ns, 80);
	CHECK_EQ(t.squares, 30 * 30 + 50 * 50);
}

/* What a block from here is booked to: 1 = the thread's own state, 2 = the shared one. */
KEEP static int booked(struct thread *t)
{
	struct counts *mine = &t->total, *shared = &mt_thread_shared()->total;
	uint64_t mine_before = mine->xalloc_blocks, shared_before = shared->xalloc_blocks;
	void *p = malloc(40);
	int where =
		(mine->xalloc_blocks != mine_before) + 2 * (shared->xalloc_blocks != shared_before);

	free(p);
	return where;
}

static volatile int in_handler;

/* As if the signal had come in the middle of an event further out. */
static void handle(int signal)
{
	struct thread *t = mt_thread_self();
	uintptr_t kept = t->busy_sp;

	(void)signal;
	in_handler = booked(t);
	CHECK_EQ(t->busy_sp, kept);
}

#define PAGES ((size_t)64 << 12)

/* The thread's stack, and above it, where position alone would mislead, the handler's. */
static void *on_two_stacks(void *memory)
{
	struct thread *t = mt_thread_self();
	stack_t stack = { .ss_sp = (char *)memory + 2 * PAGES, .ss_size = PAGES };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	CHECK_EQ(booked(t), 1);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	t->busy_sp = (uintptr_t)__builtin_frame_address(0);
	raise(SIGUSR1);
	t->busy_sp = 0;
	CHECK_EQ(in_handler, 2);
	CHECK_EQ(booked(t), 1);
	return NULL;
}

TEST(a_handler_on_its_own_stack_is_nested)
{
	char *memory =
		mmap(NULL, 3 * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	CHECK(memory != MAP_FAILED);
	mprotect(memory + PAGES, PAGES, PROT_NONE);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, memory, PAGES);
	CHECK_EQ(pthread_create(&thread, &attr, on_two_stacks, memory), 0);
	pthread_join(thread, NULL);
}

TEST(a_guard_that_was_left_behind_is_seen)
{
	struct thread *t = mt_thread_self();

	CHECK_EQ(booked(t), 1);
	t->busy_sp = (uintptr_t)__builtin_frame_address(0) - 4096; /* its frame is gone */
	CHECK_EQ(booked(t), 1);
	CHECK(t->busy_sp <= 1);
	t->busy_sp = (uintptr_t)__builtin_frame_address(0) + 4096; /* this one is alive */
	CHECK_EQ(booked(t), 2);
	t->busy_sp = 0;
}

static bool is_whole(slot_id s)
{
	node_id n = mt_slots_at(s)->node;

	while (node_parent(mt_stacks_node(n)))
		n = node_parent(mt_stacks_node(n));
	return mt_stacks_code_at(node_code(mt_stacks_node(n)))->kind != MTW_NODE_TRUNCATED;
}

/* Who finds that the guard's frame is gone, with a stack that is remembered, ends the capture that
 * was under way there. */
TEST(a_capture_that_was_left_behind_is_seen)
{
	struct thread *t = mt_thread_self();

	for (volatile int i = 0; i < 4; i++) {
		if (i == 3)
			t->busy_sp = t->unwind->xwalking =
				(uintptr_t)__builtin_frame_address(0) - 4096;
		free(malloc(100));
	}
	CHECK(is_whole(deep(200, false).slot));
	CHECK(is_whole(deep(100, true).slot));
}

static void *shallow(void *arg)
{
	bool *plain = arg;

	free(malloc(100));
	const struct known *known = &mt_thread_self()->unwind->known;
	plain[0] = known->at[0].native;
	plain[1] = !known->foreign;
	return NULL;
}

/* Else each of its captures asks the system whether its stack is still there. */
TEST(a_thread_knows_its_stack_from_the_first_page)
{
	bool plain[2] = { false, false };
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, shallow, plain));
	pthread_join(t, NULL);
	CHECK(plain[0]);
	CHECK(plain[1]);
}
