/* SPDX-License-Identifier: MIT
 *
 * test_peak.c - the counters at the peak, by slot, however late they are read: exact with one
 * thread and with many, in a thread's first events, in a forked child, read while threads run.
 */
#include "check.h"
#include "base/state.h"
#include "base/thread_list.h"
#include "base/types.h"
#include "record/peak.h"
#include "record/slots.h"
#include "record/slots_fast.h"
#include "record/thread.h"
#include "unwind/stacks.h"

#include <memtop/wire.h>
#include <pthread.h>
#include <sys/wait.h>

#define SLOTS 300
#define THREADS 8
#define LARGE (64 << 10) /* what a thread publishes before it frees */

static slot_id slot[SLOTS];
static uint64_t seed = 42;

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static void make_slots(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		slot[i] = mt_slots_of(mt_stacks_child(
			0, mt_stacks_code(0x1000 + i, MTW_NODE_NOWHERE), NEED_WHOLE));
}

static struct tally kept(slot_id s)
{
	struct tally sum[PAGE_SLOTS];
	uint64_t time_ns;

	CHECK(mt_slots_at_peak(mt_peak_newest(&time_ns), s / PAGE_SLOTS, sum));
	return sum[s % PAGE_SLOTS];
}

static uint64_t live(const struct tally *t)
{
	return t->alloc_bytes - t->free_bytes;
}

static uint64_t kept_live(void)
{
	uint64_t all = 0;

	for (slot_id i = SLOT_ROOT / PAGE_SLOTS; i * PAGE_SLOTS < mt_slots_count(); i++)
		for (unsigned j = 0; j < PAGE_SLOTS; j++) {
			struct tally t = kept(i * PAGE_SLOTS + j);
			all += live(&t);
		}
	return all;
}

static uint64_t peak_now(void)
{
	uint64_t peak, error, when;

	mt_slots_peak(&peak, &error, &when);
	return peak;
}

static void ignore(void *arg, slot_id s)
{
	(void)arg, (void)s;
}

/* It rises and falls as chance has it. A model in the plainest way: all counters, copied when the
 * balance that the thread has published is a new peak, or it frees a large block after one. */
TEST(as_if_all_were_copied_at_the_peak)
{
	static struct tally now[SLOTS], then[SLOTS], before[SLOTS];
	struct thread *t = mt_thread_self();
	uint64_t time_ns;

	make_slots();
	mt_peak_restart();
	uint32_t number = 0, peaks = 0;
	for (int i = 0; i < 400000; i++) {
		unsigned s = (unsigned)dice(SLOTS);
		size_t bytes = (size_t)dice(dice(100) ? 300 : 300000);
		bool up = dice(100) < (i / 40000 % 2 ? 49 : 52);
		if (!up && bytes > LARGE)
			memcpy(before, now, sizeof(before));
		if (!up && now[s].alloc_bytes - now[s].free_bytes >= bytes &&
		    now[s].alloc_blocks > now[s].free_blocks) {
			mt_slots_free(t, slot[s], bytes);
			now[s].free_blocks++;
			now[s].free_bytes += bytes;
		} else if (up) {
			mt_slots_alloc(t, slot[s], bytes);
			now[s].alloc_blocks++;
			now[s].alloc_bytes += bytes;
		}
		if (mt_peak_newest(&time_ns) != number) {
			number = mt_peak_newest(&time_ns);
			peaks++;
			memcpy(then, up || bytes <= LARGE ? now : before, sizeof(then));
		}
		if (i % 1000 == 0 && number) {
			unsigned at = (unsigned)dice(SLOTS);
			struct tally k = kept(slot[at]);
			CHECK(!memcmp(&k, &then[at], sizeof(k)));
		}
		if (i % 7000 == 0)
			mt_slots_collect(false, ignore, NULL);
	}
	CHECK(peaks > 20 && peaks < 89 * 20);
	for (unsigned i = 0; i < SLOTS; i++) {
		struct tally k = kept(slot[i]);
		CHECK(!memcmp(&k, &then[i], sizeof(k)));
	}
	CHECK(kept_live() + kept_live() / 100 >= peak_now());
}

/* Copies hold 32 bits of each counter until one needs more, in the middle of the page. */
TEST(counters_past_32_bits)
{
	static const uint64_t rises[] = { 1000, (UINT64_C(1) << 32) - 1000, 7, UINT64_C(1) << 40 };
	struct thread *t = mt_thread_self();
	struct tally then = { 0, 0, 0, 0 };
	uint64_t time_ns;

	make_slots();
	mt_peak_restart();
	slot_id s = slot[SLOTS / 2], next = slot[SLOTS / 2 + 1];
	mt_slots_alloc(t, next, 3);
	for (unsigned i = 0; i < sizeof(rises) / sizeof(rises[0]); i++) {
		mt_slots_weighed(t, s, true, 1, rises[i]);
		then.alloc_blocks++;
		then.alloc_bytes += rises[i];
		mt_peak_begin((int64_t)then.alloc_bytes);
		mt_slots_alloc(t, next, 5); /* the page is copied first */
		mt_slots_free(t, next, 5);
		struct tally k = kept(s), other = kept(next);
		CHECK(!memcmp(&k, &then, sizeof(k)));
		CHECK_EQ(other.alloc_bytes, 3 + i * 5);
		CHECK_EQ(other.free_blocks, i);
	}
	CHECK(mt_peak_newest(&time_ns));
}

static pthread_barrier_t barrier;
static _Atomic int running;

struct worker {
	pthread_t id;
	unsigned first;
	uint64_t blocks;
};

/* Up to where all wait for each other; then down, and on with other stacks. */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct thread *t = mt_thread_self();

	for (uint64_t i = 0; i < w->blocks; i++)
		mt_slots_alloc(t, slot[(w->first + i) % SLOTS], 1000);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (uint64_t i = 0; i < w->blocks; i++) {
		mt_slots_free(t, slot[(w->first + i) % SLOTS], 1000);
		if (i % 2)
			mt_slots_alloc(mt_thread_shared(), slot[i % SLOTS], 10);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

TEST(with_threads_that_go_on)
{
	static struct worker w[THREADS];
	uint64_t blocks = 0;

	make_slots();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	running = THREADS;
	for (unsigned i = 0; i < THREADS; i++) {
		w[i].first = i * 31;
		w[i].blocks = 20000 + i * 1000;
		blocks += w[i].blocks;
		pthread_create(&w[i].id, NULL, work, &w[i]);
	}
	pthread_barrier_wait(&barrier);
	struct tally sum;
	uint64_t all = 0;
	mt_slots_totals(&sum);
	mt_peak_rise((int64_t)live(&sum), true);
	for (unsigned i = 0; i < SLOTS; i++) {
		struct tally is;
		mt_slots_sum(slot[i], &is);
		all += live(&is);
	}
	CHECK_EQ(all, blocks * 1000);
	uint64_t before = kept_live();
	CHECK(before >= all);
	pthread_barrier_wait(&barrier);
	do
		CHECK_EQ(kept_live(), before);
	while (atomic_load(&running));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(w[i].id, NULL);
	CHECK_EQ(kept_live(), before);
	mt_slots_totals(&sum);
	CHECK(live(&sum) < before / 10);
}

/* The event that ends the peak is one block, and all of it. */
TEST(a_fall_in_one_event)
{
	struct thread *t = mt_thread_self();

	make_slots();
	mt_slots_alloc(t, slot[0], 1000);
	mt_slots_alloc(t, slot[1], 100 << 20);
	mt_slots_free(t, slot[1], 100 << 20);
	struct tally k = kept(slot[1]);
	CHECK_EQ(live(&k), 100 << 20);
	CHECK_EQ(k.free_blocks, 0);
}

TEST(what_comes_later_is_not_in_it)
{
	struct thread *t = mt_thread_self();
	struct tally k;

	make_slots();
	mt_slots_alloc(t, slot[0], 100 << 20);
	mt_slots_free(t, slot[0], 50 << 20);
	for (unsigned i = 1; i < SLOTS; i++) /* in leaves that were not there */
		mt_slots_alloc(t, slot[i], 1000);
	k = kept(slot[0]);
	CHECK_EQ(live(&k), 100 << 20);
	for (unsigned i = 1; i < SLOTS; i++) {
		k = kept(slot[i]);
		CHECK_EQ(k.alloc_blocks, 0);
	}
}

TEST(a_child_begins_with_what_it_has)
{
	struct thread *t = mt_thread_self();

	make_slots();
	mt_slots_alloc(t, slot[0], 100 << 20);
	mt_slots_free(t, slot[0], 90 << 20);
	int status, pid = fork();
	if (!pid) {
		mt_slots_forked();
		struct tally k = kept(slot[0]);
		mt_slots_free(t, slot[0], 10 << 20);
		struct tally later = kept(slot[0]);
		_exit(live(&k) != 10 << 20 || live(&later) != 10 << 20);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	struct tally k = kept(slot[0]);
	CHECK_EQ(live(&k), 100 << 20);
}

TEST(after_a_restart_there_is_none)
{
	struct thread *t = mt_thread_self();
	uint64_t time_ns;

	make_slots();
	mt_slots_alloc(t, slot[0], 100 << 20);
	mt_slots_free(t, slot[0], 100 << 20);
	mt_slots_thread_restart(t);
	mt_slots_restart();
	CHECK_EQ(mt_peak_newest(&time_ns), 0);
	mt_slots_alloc(t, slot[0], 1 << 20);
	struct tally k = kept(slot[0]);
	CHECK_EQ(live(&k), 1 << 20);
	CHECK_EQ(k.alloc_blocks, 1);
}

#define BLOCKS 20000u
#define BLOCK 700u
#define OWN 65536u /* bytes of this program, which are counted, too */

static void rise(slot_id s, unsigned blocks, size_t bytes)
{
	for (unsigned i = 0; i < blocks; i++)
		mt_slots_alloc(mt_thread_self(), s, bytes);
}

static void fall(slot_id s, unsigned blocks, size_t bytes)
{
	for (unsigned i = 0; i < blocks; i++)
		mt_slots_free(mt_thread_self(), s, bytes);
}

/* All blocks are replaced while the heap rises by less than begins a peak. */
TEST(a_heap_that_turns_over)
{
	make_slots();
	rise(slot[0], BLOCKS, BLOCK);
	for (unsigned i = 0; i < BLOCKS; i++) {
		fall(slot[0], 1, BLOCK);
		rise(slot[1], 1, BLOCK + 3);
	}
	uint64_t most = BLOCKS * (BLOCK + 3), error, peak, when;
	mt_slots_peak(&peak, &error, &when);
	CHECK(peak <= most + OWN && peak + error >= most);
	fall(slot[1], BLOCKS, BLOCK + 3);
	CHECK(kept_live() <= most + OWN && kept_live() + error >= peak);
	struct tally old = kept(slot[0]), new = kept(slot[1]);
	CHECK(live(&old) <= error && live(&new) + error >= most);
}

/* What rose last is lost with the large block, if its free is counted first. */
TEST(a_fall_in_one_event_after_a_small_rise)
{
	struct thread *t = mt_thread_self();

	make_slots();
	mt_slots_alloc(t, slot[0], 100 << 20);
	rise(slot[1], 1000, BLOCK);
	mt_slots_free(t, slot[0], 100 << 20);
	struct tally large = kept(slot[0]), small = kept(slot[1]);
	CHECK_EQ(live(&large), 100 << 20);
	CHECK_EQ(live(&small), 1000 * BLOCK);
}

/* ... by a filter, a block may stand for many. */
TEST(a_fall_in_one_weighed_event_after_a_small_rise)
{
	struct thread *t = mt_thread_self();

	make_slots();
	mt_slots_weighed(t, slot[0], true, 100, 100 << 20);
	rise(slot[1], 1000, BLOCK);
	mt_slots_weighed(t, slot[0], false, 100, 100 << 20);
	struct tally large = kept(slot[0]), small = kept(slot[1]);
	CHECK_EQ(live(&large), 100 << 20);
	CHECK_EQ(live(&small), 1000 * BLOCK);
}

/* A peak that has less than the highest balance, because its thread was late, counts as the highest
 * from then on: what falls later is no peak. */
TEST(a_peak_that_came_late)
{
	uint64_t time_ns;

	make_slots();
	rise(slot[0], BLOCKS, BLOCK);
	fall(slot[0], BLOCKS / 2, BLOCK);
	mt_peak_begin((int64_t)BLOCKS * BLOCK);
	uint32_t number = mt_peak_newest(&time_ns);
	mt_peak_correct(number, (int64_t)BLOCKS / 2 * BLOCK);
	fall(slot[0], BLOCKS / 4, BLOCK);
	CHECK_EQ(mt_peak_newest(&time_ns), number);
	rise(slot[1], BLOCKS / 2, BLOCK);
	CHECK(mt_peak_newest(&time_ns) != number);
	CHECK(kept_live() + kept_live() / 100 >= BLOCKS / 4 * 3 * BLOCK);
}

TEST(a_peak_that_is_held)
{
	uint64_t time_ns;

	make_slots();
	rise(slot[0], BLOCKS, BLOCK);
	mt_peak_hold(true);
	uint32_t number = mt_peak_newest(&time_ns);
	for (unsigned i = 0; i < BLOCKS / 2; i++) {
		fall(slot[0], 1, BLOCK);
		rise(slot[1], 1, BLOCK + 3);
	}
	CHECK_EQ(mt_peak_newest(&time_ns), number);
	mt_peak_hold(false);
	fall(slot[0], 200, BLOCK);
	CHECK(mt_peak_newest(&time_ns) != number);
}
