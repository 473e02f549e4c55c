/* SPDX-License-Identifier: MIT
 *
 * test_loop.c - the event loop: order, removal from within, posts from threads.
 */
#include "check.h"
#include "base/loop.h"

#include <pthread.h>
#include <signal.h>

static struct loop *l;
static int count;
static struct loop_source *mine;

static void add_one(void *arg)
{
	(void)arg;
	count++;
}

static void stop(void *arg)
{
	(void)arg;
	loop_stop(l);
}

static void remove_mine(void *arg)
{
	(void)arg;
	count++;
	loop_remove(mine);
	mine = NULL;
}

TEST(nothing_happens_in_time)
{
	l = loop_new(NULL);
	CHECK_EQ(loop_once(l, 0), 0);
	uint64_t before = now_ns();
	CHECK_EQ(loop_once(l, 20), 0);
	CHECK(now_ns() - before >= 19000000);
	loop_free(l);
}

TEST(timers_ring_until_removed)
{
	l = loop_new(NULL);
	mine = loop_timer(l, 1, true, add_one, NULL);
	while (count < 3)
		CHECK_EQ(loop_once(l, 1000), 1);
	loop_remove(mine);
	CHECK_EQ(loop_once(l, 10), 0);
	mine = loop_timer(l, 1, false, add_one, NULL);
	CHECK_EQ(loop_once(l, 5000), 1);
	CHECK_EQ(count, 4);
	CHECK_EQ(loop_once(l, 10), 0); /* once */
	loop_free(l);
}

TEST(a_source_may_remove_itself)
{
	l = loop_new(NULL);
	mine = loop_timer(l, 0, true, remove_mine, NULL);
	CHECK_EQ(loop_once(l, 1000), 1);
	CHECK_EQ(loop_once(l, 5), 0);
	CHECK_EQ(count, 1);
	loop_free(l);
}

static void read_byte(void *arg, unsigned events)
{
	char c;

	CHECK_EQ(events, LOOP_READ);
	CHECK_EQ(read(*(int *)arg, &c, 1), 1);
	count++;
}

TEST(descriptors_wake_when_readable)
{
	int fds[2];

	CHECK(pipe(fds) == 0);
	l = loop_new(NULL);
	mine = loop_fd(l, fds[0], LOOP_READ, read_byte, &fds[0]);
	CHECK_EQ(loop_once(l, 0), 0);
	CHECK_EQ(write(fds[1], "ab", 2), 2);
	CHECK_EQ(loop_once(l, 1000), 1);
	loop_fd_set(mine, 0);
	CHECK_EQ(loop_once(l, 5), 0);
	loop_fd_set(mine, LOOP_READ);
	CHECK_EQ(loop_once(l, 1000), 1);
	CHECK_EQ(count, 2);
	loop_free(l);
}

TEST(signals_reach_the_loop)
{
	l = loop_new(NULL);
	loop_signal(l, SIGUSR1, add_one, NULL);
	raise(SIGUSR1);
	CHECK_EQ(loop_once(l, 1000), 1);
	CHECK_EQ(count, 1);
	loop_free(l);
}

#define POSTS 20000

static void *poster(void *arg)
{
	(void)arg;
	for (int i = 0; i < POSTS; i++)
		loop_post(l, add_one, NULL);
	return NULL;
}

TEST(posts_from_threads)
{
	pthread_t t[3];

	l = loop_new(NULL);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, poster, NULL) == 0);
	while (count < 3 * POSTS)
		CHECK_EQ(loop_once(l, 10000), 1);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	loop_once(l, 0); /* the last wake-up: its post may have run with the one before */
	CHECK_EQ(loop_once(l, 0), 0);
	loop_post(l, add_one, NULL);
	loop_free(l); /* what was posted is not lost */
	CHECK_EQ(count, 3 * POSTS + 1);
}

TEST(run_until_stopped)
{
	l = loop_new(NULL);
	loop_timer(l, 5, false, stop, NULL);
	loop_run(l);
	loop_free(l);
}

/* Work in slices of 0 ms lets a ready descriptor have its turn. */
static void work(void *arg)
{
	(void)arg;
	loop_remove(mine);
	mine = loop_timer(l, 0, false, work, NULL);
}

TEST(slices_of_work_let_others_in)
{
	int fds[2];

	CHECK(pipe(fds) == 0);
	l = loop_new(NULL);
	mine = loop_timer(l, 0, false, work, NULL);
	loop_fd(l, fds[0], LOOP_READ, read_byte, &fds[0]);
	CHECK_EQ(write(fds[1], "a", 1), 1);
	for (int i = 0; i < 3 && !count; i++)
		loop_once(l, 1000);
	CHECK_EQ(count, 1);
	loop_free(l);
}
