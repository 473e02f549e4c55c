/* SPDX-License-Identifier: MIT
 *
 * test_replay.c - instants of a session written frame by frame: from any other instant the shown
 * model equals the written state, counter by counter, while the present goes on.
 */
#include "check.h"
#include "frames.h"
#include "slots.h"
#include "base/loop.h"
#include "link/replay.h"
#include "link/thin/thin.h"
#include "model/columns.h"
#include "model/model_state.h"
#include "session/format.h"
#include "session/key.h"
#include "session/session.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICKS 150
#define SLOTS 120
#define MS 1000000ull

static struct session_writer *file;
static char path[64];
static struct model *now;                     /* what the stream went into */
static struct tally at[TICKS + 1][SLOTS + 1]; /* counters by slot, at each tick */
static uint32_t slots;                        /* so far; slot n is of node n */
static int ticks;

static int apply(void *arg, const struct event *e, struct err *err)
{
	return model_apply(arg, e, err);
}

static void sent(unsigned type, const uint8_t *bytes, size_t len)
{
	struct err err = { 0 };

	CHECK_EQ(session_frame(file, 0, (uint64_t)ticks * 100 * MS, type, bytes, len, &err), 0);
	CHECK_EQ(wire_read(type, bytes, len, apply, now, &err), 0);
}

static void put_key(void)
{
	struct err err = { 0 };
	size_t len;
	struct session_key_out *key = session_key_new(
		0, session_key_resume(file, 0), (uint64_t)ticks * 100 * MS, model_ticks_read(now));

	CHECK(model_dumps(now));
	CHECK_EQ(model_dump(now, session_key_frame, key), 0);
	CHECK_EQ(model_dump_end(now, session_key_frame, key), 0);
	uint8_t *blocks = session_key_end(key, &len);
	CHECK_EQ(session_put_key(file, 0, blocks, len, &err), 0);
	free(blocks);
}

/* Some new paths, some counters that grew. */
static void step(unsigned flags)
{
	struct tally all = { 0 };
	int t = ++ticks;

	memcpy(at[t], at[t - 1], sizeof at[t]);
	while (slots < SLOTS && rand() % 2) {
		slots++;
		uint64_t parent = rand() % slots; /* 0 is the root */
		NUMBERS(MTW_NODES, 1, slots, MTW_NODE_CODE, parent, 1, 16 * slots);
		NUMBERS(MTW_SLOTS, 1, slots, slots, 0);
	}
	for (uint32_t s = 1; s <= slots; s++) {
		struct tally *c = &at[t][s];
		if (rand() % 4 == 0) {
			c->alloc_blocks += 1 + (uint64_t)rand() % 9;
			c->alloc_bytes += 100 + (uint64_t)rand() % 900;
		}
		if (rand() % 6 == 0 && c->alloc_blocks > c->free_blocks) {
			c->free_blocks++;
			c->free_bytes += (c->alloc_bytes - c->free_bytes) / 2;
		}
		NUMBERS(MTW_COUNTS, 1, s, c->alloc_blocks, c->alloc_bytes, c->free_blocks,
			c->free_bytes);
		all.alloc_blocks += c->alloc_blocks;
		all.alloc_bytes += c->alloc_bytes;
		all.free_blocks += c->free_blocks;
		all.free_bytes += c->free_bytes;
	}
	NUMBERS(MTW_TOTALS, (uint64_t)t * 100 * MS, all.alloc_blocks, all.alloc_bytes,
		all.free_blocks, all.free_bytes, all.alloc_bytes, 0, 0, 0, 0, 0, 0, slots, slots,
		0);
	NUMBERS(MTW_TICK, (uint64_t)t, (uint64_t)t * 100 * MS, flags);
}

static struct loop *loop;
static struct replay *past;
static struct model *shown;
static unsigned moved;

static void on_moved(void *arg)
{
	(void)arg;
	moved++;
}

static void enter(void)
{
	struct err err = { 0 };

	srand(7);
	ticks = 0;
	slots = 0;
	moved = 0;
	snprintf(path, sizeof path, "/tmp/t_past.%d.mtop", (int)getpid());
	file = session_create(path, 0, &err);
	CHECK(file != NULL);
	now = shown = model_new();
	loop = loop_new(NULL);
	past = replay_new(loop, shown, on_moved, NULL);
}

static void leave(void)
{
	struct err err = { 0 };

	session_close(file, &err);
	replay_free(past);
	model_free(shown);
	loop_free(loop);
	unlink(path);
}

static void go(uint64_t ns)
{
	struct err err = { 0 };
	unsigned before = moved;

	session_flush(file, &err);
	CHECK_EQ(replay_go(past, path, 0, NULL, ns, false, &err), 0);
	while (moved == before)
		CHECK(loop_once(loop, 20000));
	now = replay_now(past);
}

static void same_as(const struct model *m, int tick)
{
	struct err err = { 0 };

	CHECK_EQ(model_time(m), (uint64_t)tick * 100 * MS);
	CHECK(model_check(m, &err));
	for (uint32_t s = 1; s <= slots; s++) {
		struct tally has = made_now(m, s), *x = &has;
		if (!made_has_slot(m, s)) { /* it came after the last look at what is now */
			CHECK_EQ(at[tick][s].alloc_blocks, 0);
			continue;
		}
		CHECK_EQ(x->alloc_bytes, at[tick][s].alloc_bytes);
		CHECK_EQ(x->alloc_blocks, at[tick][s].alloc_blocks);
		CHECK_EQ(x->free_bytes, at[tick][s].free_bytes);
		CHECK_EQ(x->free_blocks, at[tick][s].free_blocks);
	}
}

static void start(int to)
{
	hello_frame(100, 5);
	module_frame();
	step(MTW_TICK_COMPLETE);
	while (ticks < to)
		step(MTW_TICK_COMPLETE);
}

TEST(every_instant_is_as_it_was)
{
	enter();
	start(100);
	for (int i = 0; i < 60; i++) {
		int t = 1 + rand() % ticks;
		go((uint64_t)t * 100 * MS + (uint64_t)rand() % (99 * MS));
		CHECK(replay_away(past) && now != shown);
		/* rows keep their places */
		CHECK_EQ(made_nodes(shown), made_nodes(now));
		same_as(shown, t);
		same_as(now, ticks);
	}
	leave();
}

TEST(what_is_now_goes_on_meanwhile)
{
	enter();
	start(60);
	go(2000 * MS);
	same_as(shown, 20);
	for (int i = 0; i < 20; i++) { /* with paths that the instant's model has not met */
		step(MTW_TICK_COMPLETE);
		same_as(now, ticks);
	}
	CHECK_EQ(model_time(shown), 2000 * MS);
	go(7000 * MS); /* on, into what came since */
	same_as(shown, 70);
	replay_return(past);
	CHECK(!replay_away(past) && replay_now(past) == shown);
	now = shown;
	same_as(shown, 80);
	step(MTW_TICK_COMPLETE);
	same_as(shown, 81);
	leave();
}

TEST(each_exchange_moves_the_ticks)
{
	enter();
	start(30);
	uint64_t before = model_ticks(shown), resets = model_resets(shown);
	go(1000 * MS);
	CHECK(model_ticks(shown) != before);
	before = model_ticks(shown);
	replay_return(past);
	CHECK(model_ticks(shown) != before);
	CHECK_EQ(model_resets(shown), resets); /* nobody has to begin anew */
	leave();
}

/* Frames of the next tick come before it: they are none of this instant. */
TEST(what_comes_behind_the_tick_is_of_the_next)
{
	enter();
	hello_frame(100, 5);
	module_frame();
	for (uint64_t t = 1; t <= 20; t++) {
		NUMBERS(MTW_PROCESS, t * 1000, t * 5000, t, 0);
		step(MTW_TICK_COMPLETE);
		/* a scan's answer has a tick of its own, of the same time, and is younger than this
		 * instant */
		if (t % 4 == 0) {
			NUMBERS(MTW_SCAN_THREADS, t, 1, 1, t, t * 10);
			NUMBERS(MTW_TICK, t, t * 100 * MS, MTW_TICK_COMPLETE);
		}
	}
	const struct instant *list;
	CHECK_EQ(model_instants(now, &list), 20);
	CHECK_EQ(list[7].time_ns, 800 * MS);
	CHECK_EQ(list[7].ticks, 9);
	for (int i = 0; i < 40; i++) {
		uint64_t t = 1 + (uint64_t)rand() % 20, rss, virt;
		uint32_t threads, children;
		go(t * 100 * MS + (uint64_t)rand() % (99 * MS));
		same_as(shown, (int)t);
		model_process(shown, &rss, &virt, &threads, &children);
		CHECK_EQ(rss, t * 1000);
		CHECK_EQ(model_looked(shown, MTW_KIND_THREADS), (t - 1) / 4 * 4 * 100 * MS);
		const struct thread *of = model_thread(shown, 1);
		CHECK_EQ(of ? of->live_bytes : 0, (t - 1) / 4 * 4 * 10);
	}
	leave();
}

TEST(only_the_program_that_is_watched)
{
	enter();
	start(20);
	/* By exec, another one: its times and ids begin anew. */
	hello_frame(100, 6);
	ticks = 0;
	slots = 0;
	memset(at, 0, sizeof at);
	module_frame();
	while (ticks < 30)
		step(MTW_TICK_COMPLETE);
	go(1500 * MS);
	same_as(shown, 15);
	leave();
}

TEST(before_the_first_whole_state_is_the_first)
{
	enter();
	hello_frame(100, 5);
	module_frame();
	step(0);
	step(0);
	step(MTW_TICK_COMPLETE);
	step(MTW_TICK_COMPLETE);
	go(150 * MS);
	same_as(shown, 3);
	leave();
}

TEST(where_the_file_ends_so_does_the_way)
{
	struct err err = { 0 };

	enter();
	start(20);
	go(100000 * MS); /* the last one that there is */
	same_as(shown, 20);
	replay_return(past);
	now = shown;
	/* Cut in the middle of a block. */
	for (int i = 0; i < 40; i++)
		step(MTW_TICK_COMPLETE);
	session_flush(file, &err);
	CHECK_EQ(truncate(path, (off_t)session_written(file) - 9), 0);
	go(6000 * MS);
	CHECK(model_time(shown) >= 2000 * MS && model_time(shown) < 6000 * MS);
	same_as(shown, (int)(model_time(shown) / (100 * MS)));
	CHECK(*replay_problem(past));
	same_as(now, 60);
	leave();
}

TEST(turning_round_on_the_way)
{
	struct err err = { 0 };

	enter();
	start(140);
	session_flush(file, &err);
	CHECK_EQ(replay_go(past, path, 0, NULL, 13000 * MS, false, &err), 0);
	CHECK_EQ(replay_go(past, path, 0, NULL, 900 * MS, false, &err), 0);
	CHECK(replay_percent(past) < 100); /* it has not been told */
	while (!moved)
		CHECK(loop_once(loop, 20000));
	now = replay_now(past);
	same_as(shown, 9);
	CHECK_EQ(replay_percent(past), 100);
	CHECK_EQ(replay_go(past, path, 0, NULL, 13000 * MS, false, &err), 0);
	replay_return(past); /* before it arrives */
	CHECK(replay_now(past) == shown);
	same_as(shown, 140);
	CHECK_EQ(replay_go(past, "/nowhere/file.mtop", 0, NULL, 100 * MS, false, &err), -1);
	CHECK(*err.text);
	same_as(shown, 140);
	leave();
}

static void rich_step(void)
{
	if (ticks % 37 == 5) { /* all that is live, which differs from the mark before */
		uint64_t id = (uint64_t)ticks / 37 + 1;
		NUMBERS(MTW_MARK, id, 0, 0, (uint64_t)ticks * 100 * MS, 1, 'm', 0, 9, 900, 0, 0, 5);
		NUMBERS(MTW_MARK_LIVE, id, 1, 2, 1, id, 10 * id, 1, 2, 20);
	}
	if (ticks == 40) {
		NUMBERS(MTW_PROCESS, 5000, 7000, 3, 1);
		NUMBERS(MTW_THREAD, 1, 44, 0, 1, 'w', 1, 2, 3, 4);
		NUMBERS(MTW_SCAN_THREADS, 7, 1, 1, 11, 110);
		NUMBERS(MTW_SAMPLES, 0, 1, 3, 4000 * MS, 100, 90, 5, 5000);
		NUMBERS(MTW_SAMPLE_LIVE, 3, 1, 2, 1, 4, 40, 1, 5, 50);
		NUMBERS(MTW_SCAN_COHORTS, 7, 3, 4000 * MS, 0, 0, 1, 1, 1, 3, 4, 40);
		NUMBERS(MTW_PEAK, 1, 3, 3900 * MS, 2, 200, 0, 0, 1, 1, 2, 200, 0, 0);
	}
	step(MTW_TICK_COMPLETE);
}

TEST(every_instant_from_key_frames)
{
	enter();
	hello_frame(100, 5);
	module_frame();
	while (ticks < 100) {
		rich_step();
		if (ticks % 20 == 0)
			put_key();
	}
	for (int i = 0; i < 60; i++) {
		int t = 1 + rand() % ticks;
		go((uint64_t)t * 100 * MS + (uint64_t)rand() % (99 * MS));
		CHECK_EQ(made_nodes(shown), made_nodes(now));
		same_as(shown, t);
		same_as(now, ticks);
	}
	leave();
}

static struct {
	uint8_t *bytes;
	size_t len, room;
} dumps[2];

static int collect(void *arg, uint64_t type, const uint8_t *bytes, size_t len)
{
	size_t which = (size_t)(uintptr_t)arg;

	if (type == MTW_HELLO)
		return 0; /* has the time at which it is written */
	GROW(dumps[which].bytes, dumps[which].room, dumps[which].len + len + 1);
	dumps[which].bytes[dumps[which].len++] = (uint8_t)type;
	if (len)
		memcpy(dumps[which].bytes + dumps[which].len, bytes, len);
	dumps[which].len += len;
	return 0;
}

/* All that a model holds, from the file's start or from a key frame on. */
static void dump_read(size_t which, bool keyed)
{
	struct err err = { 0 };
	struct session_reader *r = session_open(path, 0, &err);
	struct model *m = model_new();
	const struct session_key *keys;
	const uint8_t *bytes;
	uint64_t time_ns, type;
	size_t len, n = session_keys(r, &keys);

	CHECK_EQ(n, 5);
	if (keyed)
		CHECK(session_start_at(r, &keys[2]));
	while (session_next(r, &time_ns, &type, &bytes, &len, &err) > 0)
		CHECK_EQ(wire_read(type, bytes, len, apply, m, &err), 0);
	CHECK_EQ(model_catch_up(m, &err), 0);
	CHECK(model_check(m, &err));
	CHECK(model_dumps(m));
	struct live *held =
		model_held_at(m, model_columns(m)->slots, 1); /* the first mark's cells */
	CHECK_EQ(held[0].bytes, 10);
	free(held);
	model_dump(m, collect, (void *)(uintptr_t)which);
	model_dump_end(m, collect, (void *)(uintptr_t)which);
	model_free(m);
	session_reader_free(r);
}

TEST(a_model_of_a_key_frame_holds_all)
{
	struct err err = { 0 };

	enter();
	hello_frame(100, 5);
	module_frame();
	while (ticks < 117) {
		rich_step();
		if (ticks % 20 == 0)
			put_key();
	}
	session_flush(file, &err);
	dump_read(0, false);
	dump_read(1, true);
	CHECK_EQ(dumps[0].len, dumps[1].len);
	CHECK(dumps[0].len > 5000);
	CHECK(!memcmp(dumps[0].bytes, dumps[1].bytes, dumps[0].len));
	leave();
}

#define FILLING 250u   /* a frame that nobody knows */
#define HEADS 2000u    /* blocks of another stream, between two ticks */
#define KEY_BLOCKS 12u /* of a MiB each, in each key frame: to unpack, and to pass over */

static void put_large_key(void)
{
	static uint8_t filling[MTW_FRAME_MAX / 2];
	struct err err = { 0 };
	size_t len;
	struct session_key_out *key = session_key_new(
		0, session_key_resume(file, 0), (uint64_t)ticks * 100 * MS, model_ticks_read(now));

	model_dump(now, session_key_frame, key);
	for (unsigned i = 0; i < 2 * KEY_BLOCKS; i++)
		session_key_frame(key, FILLING, filling, sizeof filling);
	model_dump_end(now, session_key_frame, key);
	uint8_t *blocks = session_key_end(key, &len);
	CHECK_EQ(session_put_key(file, 0, blocks, len, &err), 0);
	session_key_over(file);
	free(blocks);
}

static void put_others(void)
{
	struct err err = { 0 };

	for (unsigned i = 0; i < HEADS; i++) {
		uint64_t at_ns = (uint64_t)ticks * 100 * MS;
		CHECK_EQ(session_frame(file, 7, at_ns, FILLING, (uint8_t[]){ 1 }, 1, &err), 0);
		CHECK_EQ(session_flush(file, &err), 0);
	}
}

/* Ticks 20, 40, 60, 80 have key frames, and each but the last one others' blocks behind it. */
static void start_large(void)
{
	enter();
	hello_frame(100, 5);
	module_frame();
	while (ticks < 90) {
		step(MTW_TICK_COMPLETE);
		if (ticks % 20)
			continue;
		put_large_key();
		if (ticks < 80)
			put_others();
	}
}

static void wait_us(unsigned us)
{
	nanosleep(&(struct timespec){ 0, us * 1000l }, NULL);
}

/* The thread is met at each part of its way: heads, a key frame, ticks, behind its end. */
TEST(the_way_may_end_or_turn_at_any_moment)
{
	struct err err = { 0 };

	start_large();
	for (unsigned us = 0; us < 60000; us += 101 + us / 4) {
		const struct session_writer *w = us % 2 ? file : NULL; /* who knows the keys */
		int to = 1 + (int)(us * 13 % 89);
		session_flush(file, &err);
		CHECK_EQ(replay_go(past, path, 0, w, 7000 * MS, false, &err), 0);
		wait_us(us);
		replay_return(past); /* Escape */
		CHECK(!replay_away(past) && replay_now(past) == shown);
		CHECK_EQ(replay_percent(past), 100);
		same_as(shown, ticks);
		CHECK_EQ(replay_go(past, path, 0, w, 7000 * MS, false, &err), 0);
		wait_us(us);
		go((uint64_t)to * 100 * MS); /* [ or ] again */
		same_as(shown, to);
		same_as(now, ticks);
		go((uint64_t)(to / 2 + 1) * 100 * MS);
		same_as(shown, to / 2 + 1);
		replay_return(past);
		now = shown;
	}
	leave();
}

/* Two models change places on the way on: each is played from where it was. */
static void one_after_the_other(void)
{
	enter();
	start(60);
	for (int t = 1; t <= 60; t++) {
		go((uint64_t)t * 100 * MS);
		same_as(shown, t);
	}
	for (int t = 60; t > 40; t--) {
		go((uint64_t)t * 100 * MS);
		same_as(shown, t);
	}
	leave();
}

TEST(each_instant_one_after_the_other)
{
	one_after_the_other();
}

TEST(without_a_thread)
{
	setenv("MEMTOP_TEST_SYNC", "1", 1);
	one_after_the_other();
}

/* Of a server: a report is written by a child, which has none of its threads. */
TEST(a_forked_child_arrives_too)
{
	struct err err = { 0 };
	int status;

	enter();
	start(60);
	go(1000 * MS); /* by the thread */
	session_flush(file, &err);
	pid_t child = fork();
	if (!child) {
		alarm(20);
		CHECK_EQ(replay_go(past, path, 0, NULL, 3000 * MS, true, &err), 0);
		CHECK_EQ(replay_percent(past), 100);
		now = replay_now(past);
		same_as(shown, 30);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	same_as(shown, 10);
	leave();
}

/* Nothing is left behind that the loop or the thread would still use. */
TEST(it_may_end_at_any_moment)
{
	struct err err = { 0 };

	for (unsigned us = 0; us < 3000; us += 100) {
		enter();
		start(60);
		session_flush(file, &err);
		CHECK_EQ(replay_go(past, path, 0, NULL, 3000 * MS, false, &err), 0);
		wait_us(us);
		leave();
	}
}

/* A later memtop's, say. */
TEST(a_key_frame_that_is_not_understood)
{
	struct err err = { 0 };
	size_t len;

	enter();
	start(50);
	struct session_key_out *key = session_key_new(
		0, session_key_resume(file, 0), (uint64_t)ticks * 100 * MS, model_ticks_read(now));
	model_dump(now, session_key_frame, key);
	session_key_frame(key, MTW_COUNTS, (uint8_t[]){ 1, 0xff }, 2);
	model_dump_end(now, session_key_frame, key);
	uint8_t *blocks = session_key_end(key, &len);
	CHECK_EQ(session_put_key(file, 0, blocks, len, &err), 0);
	session_key_over(file);
	free(blocks);
	while (ticks < 70)
		step(MTW_TICK_COMPLETE);
	go(6000 * MS);
	CHECK_STR(replay_problem(past), "");
	same_as(shown, 60);
	leave();
}

TEST(a_thinner_file_takes_its_place_on_the_way)
{
	static const struct timespec wait = { 0, 1000000 };
	struct err err = { 0 };
	const struct instant *list;
	const uint64_t *left;
	unsigned times = 0;

	setenv("MEMTOP_TEST_THIN_BYTES", "1000", 1);
	setenv("MEMTOP_TEST_THIN_AGES", "100", 1); /* the last 600 ms keep all */
	enter();
	start(60);
	put_key();
	session_key_over(file);
	while (ticks < 100)
		step(MTW_TICK_COMPLETE);
	session_flush(file, &err);
	CHECK_EQ(replay_go(past, path, 0, file, 4000 * MS, false, &err), 0); /* of the old file */
	do {
		CHECK_EQ(session_thin(file, thin_file, &err), 0);
	} while (session_thins(file) && !nanosleep(&wait, NULL));
	size_t n = session_thinned(file, 0, &times, &left);
	CHECK(n > 10 && n < 60);
	model_keep_instants(now, left, n);
	while (!moved)
		CHECK(loop_once(loop, 20000));
	now = replay_now(past);
	same_as(shown, 40);
	for (int i = 0; i < 20; i++)
		step(MTW_TICK_COMPLETE);
	session_flush(file, &err);
	n = model_instants(now, &list);
	for (size_t i = 0; i < 3 * n; i++) { /* on, and back */
		const struct instant *to = &list[(i * 7 + n / 2) % n];
		unsigned before = moved;
		CHECK_EQ(replay_go(past, path, 0, file, to->time_ns, false, &err), 0);
		while (moved == before)
			CHECK(loop_once(loop, 20000));
		now = replay_now(past);
		CHECK_STR(replay_problem(past), "");
		same_as(shown, (int)(to->time_ns / (100 * MS)));
		n = model_instants(now, &list);
	}
	leave();
}

/* A view's snapshots of a large program come from a thread, some time after their ticks; but at
 * each instant there is none but its own. */
TEST(each_instant_has_a_snapshot_of_its_own)
{
	enter();
	start(100);
	model_set_paced(shown, true);
	model_heap(shown);
	for (int i = 0; i < 8; i++) {
		shown->maker->cost_ns = 1u << 25; /* as of a million call paths */
		go((uint64_t)(10 + i * 10) * 100 * MS);
		struct tally sum = heap_incl(model_heap(shown), 0);
		CHECK_EQ(live_bytes(&sum), live_bytes(&model_totals(shown)->sum));
	}
	leave();
}
