/* SPDX-License-Identifier: MIT
 *
 * test_watch.c - the data shown and kept while links break and come back. The agent is a few frames
 * written by hand: one module, two stacks.
 */
#include "peer.h"

#include "frames.h"
#include "session/session.h"
#include "link/watch.h"
#include "session/spool.h"
#include "model/columns.h"

#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static struct watch *w;
static struct target target;
static int listener, agent = -1;
static unsigned told;

static void on_change(void *arg, unsigned bits)
{
	(void)arg;
	told += bits & WATCH_NOTICE ? 1 : 0;
}

static void enter(bool spool)
{
	struct watch_options o = { .spool = spool ? SPOOL_KEEP : 0, .wait = true };
	struct err err = { 0 };

	loop = loop_new(NULL);
	listener = peer_listen(&target);
	w = watch_open(loop, &target, &o, &err);
	CHECK(w != NULL);
	watch_on_change(w, on_change, NULL);
}

static void leave(void)
{
	watch_close(w);
	close(agent);
	close(listener);
	loop_free(loop);
}

static void sent(unsigned type, const uint8_t *bytes, size_t len)
{
	uint8_t head[20];
	struct mtw_out h = { head, head + sizeof head, false };

	mtw_put(&h, type);
	mtw_put(&h, len);
	peer_send(agent, head, (size_t)(h.at - head));
	peer_send(agent, bytes, len);
}

static void hello(unsigned pid, uint64_t start)
{
	static const uint8_t greeting[MTW_GREETING_LEN] = MTW_MAGIC "\1\0\1";

	agent = peer_accept(listener);
	peer_send(agent, greeting, sizeof greeting);
	hello_frame(pid, start);
}

static void totals(uint64_t ns, uint64_t bytes, uint64_t slots)
{
	NUMBERS(MTW_TOTALS, ns, 2, bytes, 0, 0, bytes, 0, ns, 0, 0, 0, 0, 2, slots, 0);
}

static void tick(uint64_t ns, unsigned flags)
{
	NUMBERS(MTW_TICK, 1, ns, flags);
}

static void stacks(uint64_t first, uint64_t second)
{
	module_frame();
	NUMBERS(MTW_NODES, 2, 1, MTW_NODE_CODE, 0, 1, 0x10, 1, MTW_NODE_CODE, 0, 1, 0x20);
	NUMBERS(MTW_SLOTS, 2, 1, 1, 0, 1, 2, 0);
	NUMBERS(MTW_COUNTS, 1, 1, 1, first, 0, 0);
	if (second)
		NUMBERS(MTW_COUNTS, 1, 2, 1, second, 0, 0);
}

static void mark(unsigned id, uint64_t ns)
{
	begin();
	PUT(id, id, 0, ns);
	mtw_put_string(&out, "here");
	mtw_put_string(&out, "test");
	PUT(0, 0, 0, 0, 0);
	end(MTW_MARK);
	NUMBERS(MTW_MARK_LIVE, id, 1, 0);
}

static void whole(uint64_t ns, uint64_t first, uint64_t second)
{
	stacks(first, second);
	totals(ns, first + second, 2);
	tick(ns, MTW_TICK_COMPLETE);
}

static void cut(void)
{
	close(agent);
	agent = -1;
	WAIT_FOR(!watch_live(w));
}

static uint64_t live(void)
{
	return live_bytes(&model_totals(watch_model(w))->sum);
}

static uint64_t live_of_rows(void)
{
	struct tally all = heap_incl(model_heap(watch_model(w)), 0);

	return live_bytes(&all);
}

static void check_model(void)
{
	struct err err = { 0 };
	bool ok = model_check(watch_model(w), &err);

	if (!ok)
		printf("  %s\n", err.text);
	CHECK(ok);
}

/* A command that sets a mark does not wait for a million stacks. */
TEST(brief_is_ready_before_the_stacks)
{
	struct watch_options o = { .wait = true, .brief = true };
	struct err err = { 0 };

	loop = loop_new(NULL);
	listener = peer_listen(&target);
	w = watch_open(loop, &target, &o, &err);
	CHECK(w && !watch_ready(w, &err));
	hello(7, 99);
	totals(10, 1000, 2);
	tick(10, 0);
	WAIT_FOR(watch_ready(w, &err) == 1);
	CHECK(!model_complete(watch_model(w)));
	leave();
}

TEST(cut_while_loading_shows_the_last_whole_state)
{
	enter(false);
	struct model *m = watch_model(w);
	hello(7, 99);
	mark(1, 5);
	whole(10, 600, 400);
	WAIT_FOR(model_complete(m));
	CHECK_EQ(live(), 1000);
	CHECK_EQ(model_set_interval(m, 1, 0), 0);
	uint64_t resets = model_resets(m);

	for (int again = 0; again < 3; again++) {
		cut();
		CHECK(watch_stale_ns(w) > 0);
		hello(7, 99);
		mark(1, 5);
		mark(2, 15);
		totals(20, 5000, 0);
		tick(20, 0);
		WAIT_FOR(model_coming(m) && model_coming(m)->time_ns == 20);
		stacks(4500, 0);
		totals(21, 5000, 1);
		tick(21, 0);
		WAIT_FOR(watch_loading(w) == 50);
		/* All of one instant, and said to be old. */
		CHECK(watch_live(w));
		CHECK(watch_stale_ns(w) > 0);
		CHECK_EQ(live(), 1000);
		CHECK_EQ(live_of_rows(), 1000);
		CHECK_EQ(model_time(m), 10);
		CHECK_EQ(live_bytes(&model_coming(m)->sum), 5000);
		CHECK(model_mark(m, 1)->known && !model_mark(m, 2)->known);
		CHECK_EQ(model_base(m), 1);
		check_model();
	}
	CHECK_EQ(model_resets(m), resets);
	NUMBERS(MTW_COUNTS, 1, 2, 1, 500, 0, 0);
	totals(22, 5000, 2);
	tick(22, MTW_TICK_COMPLETE);
	WAIT_FOR(!model_coming(m));
	CHECK_EQ(watch_stale_ns(w), 0);
	CHECK_EQ(watch_loading(w), 100);
	CHECK_EQ(live(), 5000);
	CHECK_EQ(live_of_rows(), 5000);
	CHECK(model_mark(m, 2)->known && model_mark(m, 2)->live_known);
	CHECK_EQ(model_base(m), 1);
	CHECK_EQ(model_resets(m), resets);
	/* What came in one piece after a pause is no rate. */
	CHECK_EQ(heap_amounts(model_heap(m), 0).rate.bytes, 0);
	check_model();
	leave();
}

TEST(cut_before_anything_was_whole)
{
	enter(false);
	struct model *m = watch_model(w);
	hello(7, 99);
	stacks(600, 0);
	totals(10, 1000, 1);
	tick(10, 0);
	WAIT_FOR(live() == 1000);
	CHECK_EQ(live_of_rows(), 600);
	cut();
	hello(7, 99);
	totals(20, 2000, 0);
	tick(20, 0);
	/* An incomplete state does not delay newer data: the view shows it on arrival. */
	WAIT_FOR(live() == 2000);
	CHECK(!model_coming(m));
	CHECK_EQ(live_of_rows(), 600);
	whole(30, 1500, 500);
	WAIT_FOR(model_complete(m));
	CHECK_EQ(live_of_rows(), 2000);
	check_model();
	leave();
}

TEST(program_ends_while_it_loads_again)
{
	enter(false);
	struct model *m = watch_model(w);
	hello(7, 99);
	whole(10, 600, 400);
	WAIT_FOR(model_complete(m));
	cut();
	hello(7, 99);
	stacks(700, 0);
	totals(20, 3000, 1);
	tick(20, MTW_TICK_FINAL);
	WAIT_FOR(model_final(m));
	/* Nothing better comes any more: the newest figures, and not called whole. */
	CHECK_EQ(live(), 3000);
	CHECK_EQ(live_of_rows(), 1100);
	CHECK(!model_complete(m));
	check_model();
	leave();
}

TEST(another_program_is_no_reconnect)
{
	enter(false);
	struct model *m = watch_model(w);
	hello(7, 99);
	whole(10, 600, 400);
	WAIT_FOR(model_complete(m));
	uint64_t resets = model_resets(m);
	cut();
	hello(7, 100);
	totals(5, 300, 0);
	tick(5, 0);
	WAIT_FOR(model_ticks(m) && live() == 300);
	CHECK_EQ(live_of_rows(), 0);
	CHECK(!model_coming(m) && !model_complete(m));
	CHECK(model_resets(m) != resets);
	leave();
}

static char state_dir[64];

static void limit_spool(const char *bytes)
{
	strcpy(state_dir, "/tmp/t_watch.XXXXXX");
	CHECK(mkdtemp(state_dir) != NULL);
	setenv("XDG_STATE_HOME", state_dir, 1);
	setenv("MEMTOP_TEST_SPOOL_MAX", bytes, 1);
}

static void remove_spool(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", state_dir);
	CHECK_EQ(system(command), 0);
}

/* 60 KB that do not compress, in a frame of a later version. */
static void noise(uint32_t seed)
{
	begin();
	for (int i = 0; i < 15; i++) {
		uint8_t text[4000];
		for (size_t k = 0; k < sizeof text; k++) {
			seed = seed * 1664525u + 1013904223u;
			text[k] = (uint8_t)(seed >> 24 | 1);
		}
		mtw_put_bytes(&out, text, sizeof text);
	}
	end(40);
}

TEST(full_spool_is_said_once_and_what_is_kept_can_be_saved)
{
	struct err err = { 0 };
	const char *const *warnings;
	char path[128];

	limit_spool("1000000");
	enter(true);
	struct model *m = watch_model(w);
	hello(7, 99);
	whole(10, 600, 400);
	WAIT_FOR(model_complete(m));
	for (uint32_t i = 0; i < 200 && !watch_notice(w); i++)
		noise(i);
	WAIT_FOR(watch_notice(w) != NULL);
	CHECK(strstr(watch_notice(w), "the session is no longer saved: ") != NULL);
	CHECK(strstr(watch_notice(w), "the limit for a live view's session") != NULL);
	unsigned warned = 0;
	for (size_t i = watch_warnings(w, &warnings); i-- > 0;)
		warned += strstr(warnings[i], "no longer saved") != NULL;
	CHECK_EQ(warned, 1);
	/* Watching goes on, and nothing is said again. */
	unsigned before = told;
	for (uint32_t i = 0; i < 20; i++)
		noise(i);
	totals(50, 1000, 2);
	tick(50, MTW_TICK_COMPLETE);
	WAIT_FOR(model_time(m) == 50);
	CHECK(told <= 1 && told == (before ? before : told));
	CHECK(watch_problem(w) == NULL);

	snprintf(path, sizeof path, "%s/saved.mtop", state_dir);
	watch_save_begin(w);
	CHECK_EQ(watch_save(w, path, &err), 1);
	CHECK(strstr(err.text, "it ends at ") != NULL);
	leave();
	struct stat st;
	CHECK_EQ(stat(path, &st), 0);
	CHECK(st.st_size <= 1000000 + 10000);
	CHECK_EQ(target_parse(path, &target, &err), 0);
	loop = loop_new(NULL);
	w = watch_open(loop, &target, &(struct watch_options){ 0 }, &err);
	CHECK(w != NULL);
	CHECK_EQ(live(), 1000);
	CHECK(watch_problem(w) == NULL); /* not cut: it has its index and its end */
	watch_close(w);
	loop_free(loop);
	remove_spool();
}

static bool held;

/* In place of libc's: a child that makes a key frame asks for its end with its parent's first. */
int prctl(int operation, ...)
{
	va_list more;

	if (held && operation == PR_SET_PDEATHSIG)
		for (;;)
			pause();
	va_start(more, operation);
	unsigned long arg = va_arg(more, unsigned long);
	va_end(more);
	return (int)syscall(SYS_prctl, operation, arg, 0, 0, 0);
}

static char recording[64];

static void record(void)
{
	struct watch_options o = { .record_path = recording, .wait = true };
	struct err err = { 0 };

	snprintf(recording, sizeof recording, "/tmp/t_watch.%d.mtop", (int)getpid());
	loop = loop_new(NULL);
	listener = peer_listen(&target);
	w = watch_open(loop, &target, &o, &err);
	CHECK(w != NULL);
	hello(7, 99);
}

static size_t keys_in(const char *path)
{
	const struct session_key *keys;
	struct session_reader *r = session_open(path, 0, NULL);

	CHECK(r != NULL);
	size_t n = session_keys(r, &keys);
	session_reader_free(r);
	return n;
}

TEST(a_key_frame_under_way_at_the_end_is_made_then)
{
	struct err err = { 0 };

	record();
	struct model *m = watch_model(w);
	whole(10, 600, 400);
	WAIT_FOR(model_complete(m));
	held = true;
	setenv("MEMTOP_TEST_KEY_BYTES", "1", 1);
	totals(20, 1000, 2);
	tick(20, MTW_TICK_COMPLETE | MTW_TICK_FINAL); /* nothing comes after this child began */
	WAIT_FOR(model_final(m));
	CHECK_EQ(keys_in(recording), 0);
	CHECK_EQ(watch_end_record(w, &err), 0);
	CHECK_EQ(keys_in(recording), 1);
	leave();
	unlink(recording);
}

static void send_rest(void *arg)
{
	(void)arg;
	NUMBERS(MTW_COUNTS, 1, 2, 1, 400, 0, 0);
	totals(30, 1000, 2);
	tick(30, MTW_TICK_COMPLETE);
}

/* The one question that this agent knows is answered at once; the rest takes a while. */
static void on_question(void *arg, unsigned events)
{
	struct loop_source **rest = arg;
	uint8_t bytes[4096];

	(void)events;
	while (recv(agent, bytes, sizeof bytes, 0) > 0)
		;
	NUMBERS(MTW_SCAN_THREADS, 1, 1, 0, 1, 1000);
	if (*rest == NULL)
		*rest = loop_timer(loop, 100, false, send_rest, NULL);
}

TEST(a_recording_ends_with_whole_sums)
{
	struct loop_source *rest = NULL, *questions;
	struct err err = { 0 };

	record();
	struct model *m = watch_model(w);
	whole(10, 600, 0);
	WAIT_FOR(model_complete(m));
	totals(20, 1000, 2); /* of an agent whose viewer takes its bytes late */
	tick(20, 0);
	WAIT_FOR(live() == 1000);
	questions = loop_fd(loop, agent, LOOP_READ, on_question, &rest);
	CHECK_EQ(watch_end_record(w, &err), 0);
	loop_remove(questions);
	loop_remove(rest);
	leave();
	CHECK_EQ(target_parse(recording, &target, &err), 0);
	loop = loop_new(NULL);
	w = watch_open(loop, &target, &(struct watch_options){ 0 }, &err);
	CHECK(w != NULL);
	CHECK_EQ(live(), 1000);
	CHECK_EQ(live_of_rows(), 1000);
	watch_close(w);
	loop_free(loop);
	unlink(recording);
}
