/* SPDX-License-Identifier: MIT
 *
 * test_trim.c - memory of the live map given back, under the test's own malloc.
 */
#include "check.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/types.h"
#include "live/leaves.h"
#include "live/live.h"
#include "live/sampled.h"
#include "live/trim.h"
#include "record/loss.h"
#include "record/slots.h"
#include "record/thread.h"

#include <memtop/wire.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS 1000000000u

static void *large;

static uint64_t peak(void)
{
	uint64_t bytes, error, at_ns;

	mt_slots_peak(&bytes, &error, &at_ns);
	return bytes;
}

/* What the server does at a tick. */
static void pass(void)
{
	static uint64_t now = SECOND_NS;

	mt_live_give_back(now += 2 * (uint64_t)SECOND_NS, peak());
}

/* Much was alive, is no longer, and the leaves are looked at twice. */
static void give_back(void)
{
	large = malloc(64u << 20);
	pass();
	free(large);
	for (int i = 0; i < 4; i++)
		pass();
}

static size_t resident_pages(void)
{
	static unsigned char touched[16384];
	size_t sum = 0, pages = mt_live_leaf_bytes(LEAF_EVEN) / mt_prim_page_bytes();

	for (const struct used *u = mt_live_used; u; u = u->next) {
		if (u->kind != LEAF_EVEN || !mt_prim_touched((uintptr_t)u->leaf, pages, touched))
			continue;
		for (size_t i = 0; i < pages; i++)
			sum += touched[i] & PAGE_THERE;
	}
	return sum;
}

TEST(memory_is_given_back_when_blocks_are_gone)
{
	enum { BLOCKS = 800000 }; /* of 64 bytes: 1,800 pages of entries */
	static void *block[BLOCKS];
	struct block b;

	mt_state_seal(SEAL_RIGHTS); /* no server but this test */
	give_back();
	size_t before = resident_pages();
	for (int i = 0; i < BLOCKS; i++)
		block[i] = malloc(64);
	size_t full = resident_pages();
	CHECK(full > before + 1500);
	give_back();
	CHECK(resident_pages() + 20 > full); /* nothing that is alive */
	for (int i = 0; i < BLOCKS; i++) {
		CHECK(mt_live_peek(block[i], &b));
		CHECK_EQ(b.size, 64);
	}
	for (int i = 0; i < BLOCKS; i += 2)
		free(block[i]);
	give_back();
	CHECK(resident_pages() + 20 > full); /* each page has one that is alive */
	for (int i = 1; i < BLOCKS; i += 2)
		free(block[i]);
	give_back();
	CHECK(resident_pages() < before + 50);
	CHECK(!mt_live_closed);
}

/* One event of a thread is under way for as long as this says: nothing is given back, the region
 * stays open. */
TEST(who_is_in_the_middle_of_an_event_delays_it)
{
	enum { BLOCKS = 100000 };
	static void *block[BLOCKS];
	struct thread *t = mt_thread_self();
	uint64_t given;

	mt_state_seal(SEAL_RIGHTS);
	give_back();
	for (int i = 0; i < BLOCKS; i++)
		block[i] = malloc(100);
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	large = malloc(64u << 20);
	pass();
	free(large);
	pass();
	given = mt_live_given_back;
	uintptr_t was = t->busy_sp;
	t->busy_sp = (uintptr_t)&was;
	pass();
	t->busy_sp = was;
	CHECK_EQ(mt_live_given_back, given);
	CHECK(!mt_live_closed);
	pass();
	CHECK(mt_live_given_back > given + 200);
}

static sem_t is_inside, may_go;

static void *stays_inside(void *arg)
{
	struct thread *t = mt_thread_self();

	t->busy_sp = (uintptr_t)&t;
	sem_post(&is_inside);
	sem_wait(&may_go);
	t->busy_sp = 0;
	return arg;
}

static bool gives_back(void)
{
	enum { BLOCKS = 100000 };
	static void *block[BLOCKS];
	uint64_t given;

	give_back();
	for (int i = 0; i < BLOCKS; i++)
		block[i] = malloc(100);
	given = mt_live_given_back;
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	give_back();
	return mt_live_given_back > given + 200;
}

/* A thread that was within an event stayed with the parent. */
TEST(a_forked_child_waits_for_nobody)
{
	pthread_t thread;
	int status;

	mt_state_seal(SEAL_RIGHTS);
	CHECK_EQ(pthread_create(&thread, NULL, stays_inside, NULL), 0);
	sem_wait(&is_inside);
	pid_t child = fork();
	if (!child)
		_exit(!gives_back());
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(!gives_back());
	sem_post(&may_go);
	pthread_join(thread, NULL);
}

TEST(what_goes_while_it_is_looked_at_is_given_back_later)
{
	enum { BLOCKS = 700000 }; /* of 64 bytes: looked at in one go */
	static void *block[BLOCKS];

	mt_state_seal(SEAL_RIGHTS);
	give_back();
	size_t before = resident_pages();
	for (int i = 0; i < BLOCKS; i++)
		block[i] = malloc(64);
	pass();
	for (int i = 0; i < BLOCKS / 2; i++)
		free(block[i]);
	pass();
	for (int i = BLOCKS / 2; i < BLOCKS; i++)
		free(block[i]);
	for (int i = 0; i < 4; i++)
		pass();
	CHECK(resident_pages() < before + 50);
}

static _Atomic bool enough;
static _Atomic uint64_t strange;

/* Blocks come and go all over an area where few are alive at a time. */
static void *wander(void *arg)
{
	enum { BURST = 300, SPACES = 40 };
	void *block[BURST], *space[SPACES];
	uint64_t seed = (uintptr_t)arg;
	struct block b;

	while (!enough) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		int spaces = (int)(seed >> 45) % SPACES;
		for (int i = 0; i < spaces; i++)
			space[i] = malloc(60000);
		int burst = 1 + (int)(seed >> 33) % BURST;
		for (int i = 0; i < burst; i++)
			block[i] = malloc(24 + (size_t)i % 200);
		for (int i = 0; i < burst; i++)
			if (!mt_live_peek(block[i], &b) || b.size != 24 + (size_t)i % 200)
				strange++;
		if (seed >> 63)
			block[0] = realloc(block[0], 5);
		for (int i = 0; i < burst; i++)
			free(block[i]);
		for (int i = 0; i < spaces; i++)
			free(space[i]);
	}
	return NULL;
}

TEST(threads_lose_nothing_while_memory_is_given_back)
{
	enum { THREADS = 5, PAGES = 2000, ROUNDS = 10000 };
	pthread_t thread[THREADS];
	uint64_t unknown, unseen, bytes, later;

	mt_state_seal(SEAL_RIGHTS);
	mt_record_losses(MTW_LOSS_UNKNOWN_FREE, &unknown, &bytes);
	mt_record_losses(MTW_LOSS_UNSEEN_FREE, &unseen, &bytes);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, wander, (void *)(i + 1)));
	for (int i = 0; i < ROUNDS && mt_live_given_back < PAGES; i++)
		give_back();
	enough = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(strange, 0);
	mt_record_losses(MTW_LOSS_UNKNOWN_FREE, &later, &bytes);
	CHECK_EQ(later, unknown);
	mt_record_losses(MTW_LOSS_UNSEEN_FREE, &later, &bytes);
	CHECK_EQ(later, unseen);
	CHECK(mt_live_given_back >= PAGES);
}
