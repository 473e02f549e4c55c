/* SPDX-License-Identifier: MIT
 *
 * test_stuck.c - when a lock counts as never released.
 */
#include "attach/ptrace/stopped_process.h"
#include "check.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct inject_stuck began = {
	.count = 3, .then = { { 10, 'S', 5 }, { 11, 'R', 100 }, { 12, 'S', 7 } }
};

TEST(others_had_their_turn)
{
	struct stuck_thread now[] = { { 10, 'S', 5 }, { 11, 'R', 101 }, { 12, 'S', 7 } };

	CHECK(inject_all_had_a_turn(&began, now, 3, 10));
	now[2].ticks = 9;
	now[2].state = 'R';
	CHECK(inject_all_had_a_turn(&began, now, 3, 10));
	now[2] = (struct stuck_thread){ 13, 'R', 0 }; /* began meanwhile */
	CHECK(inject_all_had_a_turn(&began, now, 3, 10));
}

TEST(one_that_got_no_turn_may_have_the_lock)
{
	for (const char *state = "RDTt"; *state; state++) {
		struct stuck_thread now[] = { { 10, 'S', 5 }, { 11, *state, 100 }, { 12, 'S', 7 } };

		CHECK(!inject_all_had_a_turn(&began, now, 3, 10));
		CHECK(inject_all_had_a_turn(&began, now, 3, 11)); /* itself */
	}
}

TEST(too_many_to_tell)
{
	struct stuck_thread *now = xcalloc(STUCK_THREADS, sizeof *now);

	for (int i = 0; i < STUCK_THREADS; i++)
		now[i] = (struct stuck_thread){ 100 + i, 'S', 0 };
	CHECK(inject_all_had_a_turn(&began, now, STUCK_THREADS - 1, 10));
	CHECK(!inject_all_had_a_turn(&began, now, STUCK_THREADS, 10));
	free(now);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int tid;

static void *wait_for_lock(void *arg)
{
	(void)arg;
	tid = (int)syscall(SYS_gettid);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pause();
	return NULL;
}

static bool stuck_within(struct inject_stuck *s, int seconds)
{
	uint64_t end = now_ns() + (uint64_t)seconds * 1000000000u;
	bool stuck = false;

	while (!stuck && now_ns() < end) {
		stuck = inject_is_stuck(s, getpid(), tid);
		usleep(20000);
	}
	return stuck;
}

/* Of a thread of our own, while nobody traces it. */
TEST(a_lock_and_a_pause)
{
	struct inject_stuck *s = xcalloc(1, sizeof *s);
	pthread_t thread;

	pthread_mutex_lock(&lock);
	CHECK_EQ(pthread_create(&thread, NULL, wait_for_lock, NULL), 0);
	while (!tid)
		usleep(1000);
	CHECK(stuck_within(s, 30));
	pthread_mutex_unlock(&lock);
	*s = (struct inject_stuck){ .word = 0 };
	CHECK(!stuck_within(s, 5));
	free(s);
}
