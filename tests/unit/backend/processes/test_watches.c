/* SPDX-License-Identifier: MIT
 *
 * test_watches.c - which processes of a tree get a watch, and what their lines and streams have.
 */
#include "on_board.h"

#include "frames.h"

/* Its server waits for memtop, and no longer than it takes to have all. */
TEST(one_that_lingers_is_connected_to)
{
	static const uint8_t greeting[MTW_GREETING_LEN] = MTW_MAGIC "\1\0\1";

	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "make");
	struct board_record *r = claim(1, BOARD_RUNNING, NOBODY, 0, "cc1plus");
	snprintf(r->socket, sizeof r->socket, "%.107s", target.name);
	r->lingers = 1;
	r->xpeak_bytes = 20 << 20;
	ends(r, BOARD_EXIT, 0, 100, 0);
	int server = peer_accept(listener);
	peer_send(server, greeting, sizeof greeting);
	CHECK(named("cc1plus")->watch != NULL && named("cc1plus")->matters);
	WAIT_FOR(read(server, (uint8_t[1]){ 0 }, 1) == 1);
	close(server);
	leave();
}

TEST(one_that_matters_gets_a_watch)
{
	struct err err = { 0 };

	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "make");
	struct board_record *r = claim(1, BOARD_RUNNING, (unsigned)getppid(), 0, "cc1plus");
	snprintf(r->socket, sizeof r->socket, "%.107s", target.name);
	WAIT_FOR(named("cc1plus") != NULL);
	CHECK(named("cc1plus")->watch == NULL);
	r->xpeak_bytes = 16 << 20;
	WAIT_FOR(named("cc1plus")->watch != NULL);
	CHECK(processes_watch(tree, named("cc1plus")->id, &err) == named("cc1plus")->watch);
	CHECK(processes_watch(tree, 99, &err) == NULL && *err.text);
	leave();
}

/* memtop met the program that it executed first: its watch went on with that one. */
TEST(one_that_lingers_writes_a_stream_of_its_own)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "make");
	struct board_record *r = claim(1, BOARD_RUNNING, (unsigned)getppid(), 0, "sh");
	snprintf(r->socket, sizeof r->socket, "%.107s", target.name);
	r->xpeak_bytes = 16 << 20;
	WAIT_FOR(named("sh") && named("sh")->watch);
	claim(2, BOARD_RUNNING, (unsigned)getppid(), 1, "executed");
	WAIT_FOR(named("executed") && named("executed")->watch);
	CHECK(named("sh")->watch == NULL);
	r->lingers = 1;
	ends(r, BOARD_EXEC, 0, 16 << 20, 0);
	WAIT_FOR(named("sh")->watch != NULL);
	CHECK(watch_stream(named("sh")->watch) != watch_stream(named("executed")->watch));
	leave();
}

static int agent;

static void sent(unsigned type, const uint8_t *bytes, size_t len)
{
	uint8_t start[20];
	struct mtw_out o = { start, start + sizeof start, false };

	mtw_put(&o, type);
	mtw_put(&o, len);
	peer_send(agent, start, (size_t)(o.at - start));
	peer_send(agent, bytes, len);
}

static void speaks(unsigned pid)
{
	static const uint8_t greeting[MTW_GREETING_LEN] = MTW_MAGIC "\1\0\1";

	agent = peer_accept(listener);
	peer_send(agent, greeting, sizeof greeting);
	hello_frame(pid, unix_now_ns());
	module_frame();
}

static void state(uint64_t ns, uint64_t bytes)
{
	NUMBERS(MTW_TOTALS, ns, 1, bytes, 0, 0, bytes, 0, ns, 0, 0, 0, 0, 0, 0, 0);
	NUMBERS(MTW_TICK, 1, ns, MTW_TICK_COMPLETE);
}

/* Its line has what its stream has, also what came while the recording ended, and no more. Other
 * lines go on until the file is closed. */
TEST(a_line_has_the_last_figures_of_its_stream)
{
	struct processes_options o = { .follow = true };
	char path[] = "/tmp/t_processes.XXXXXX";
	struct watch_options w = { .wait = true, .record_path = path };
	struct err err = { 0 };

	close(mkstemp(path));
	loop = loop_new(NULL);
	listener = peer_listen(&target);
	tree = processes_new(loop, &o, &err);
	map_board();
	first = watch_open(loop, &target, &w, &err);
	CHECK(first != NULL);
	processes_first(tree, getpid(), first);
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "make");
	speaks((unsigned)getpid());
	state(10, 100);
	WAIT_FOR(watch_keeps(first) && line(0)->sum.alloc_bytes == 100);
	int of_first = agent;

	struct board_record *r = claim(1, BOARD_RUNNING, (unsigned)getppid(), 0, "cc");
	snprintf(r->socket, sizeof r->socket, "%.107s", target.name);
	r->xpeak_bytes = 16 << 20;
	speaks((unsigned)getppid());
	state(20, 1000);
	WAIT_FOR(named("cc")->recorded && named("cc")->sum.alloc_bytes == 1000);
	struct board_record *late = claim(2, BOARD_RUNNING, (unsigned)getppid(), 0, "late");
	WAIT_FOR(named("late") != NULL);
	state(30, 2000);
	CHECK_EQ(processes_end(tree, &err), 0);
	CHECK_EQ(named("cc")->sum.alloc_bytes, 2000);
	state(40, 3000); /* too late for the file */
	ends(late, BOARD_EXIT, 0, 10, 10);
	WAIT_FOR(named("late")->state == PROCESS_EXITED && named("late")->sum.alloc_bytes == 10);
	CHECK_EQ(named("cc")->sum.alloc_bytes, 2000);
	CHECK_EQ(watch_end_record(first, &err), 0);
	close(of_first);
	close(agent);
	leave();
	unlink(path);
}

TEST(one_that_allocated_much_gets_a_watch)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "sh");
	struct board_record *r = claim(1, BOARD_RUNNING, (unsigned)getppid(), 0, "awk");
	snprintf(r->socket, sizeof r->socket, "%.107s", target.name);
	r->xalloc_bytes = r->xfreed_bytes = (64 << 20) - 1;
	WAIT_FOR(named("awk") != NULL);
	CHECK(named("awk")->watch == NULL);
	r->xalloc_bytes = r->xfreed_bytes = 64 << 20;
	WAIT_FOR(named("awk")->watch != NULL);
	leave();
}
