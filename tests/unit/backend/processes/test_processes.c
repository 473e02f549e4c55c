/* SPDX-License-Identifier: MIT
 *
 * test_processes.c - the lines of a process tree, from a board that the test itself writes to, as
 * agents do.
 */
#include "peer.h"

#include "frames.h"
#include "processes/processes.h"
#include "session/session.h"

#include <memtop/board.h>
#include <memtop/wire.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static struct processes *tree;
static struct board_head *head;
static struct watch *first;
static struct target target;
static int listener;

static struct board_record *record(uint32_t i)
{
	return &((struct board_record *)(head + 1))[i];
}

static void moved(void)
{
	atomic_fetch_add(&head->xserial, 1);
}

static void map_board(void)
{
	int fd = open(processes_board(tree), O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	head = mmap(NULL, board_bytes(BOARD_RECORDS), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(head != MAP_FAILED);
	CHECK(ftruncate(fd, 0) != 0);
	close(fd);
}

/* The first program is this process; its agent never speaks. */
static void enter(void)
{
	struct processes_options o = { .follow = true };
	struct watch_options w = { .wait = true };
	struct target nobody;
	struct err err = { 0 };

	loop = loop_new(NULL);
	listener = peer_listen(&target);
	tree = processes_new(loop, &o, &err);
	CHECK(tree != NULL);
	map_board();
	CHECK_EQ(target_parse("@t_processes.nobody", &nobody, &err), 0);
	first = watch_open(loop, &nobody, &w, &err);
	CHECK(first != NULL);
	processes_first(tree, getpid(), first);
}

static void leave(void)
{
	processes_free(tree);
	watch_close(first);
	close(listener);
	loop_free(loop);
}

/* A record as its agent begins it. */
static struct board_record *claim(uint32_t i, uint32_t state, unsigned pid, uint32_t parent,
				  const char *name)
{
	struct board_record *r = record(i);

	CHECK_EQ(r->xstate, BOARD_FREE);
	uint32_t serial = r->xserial + 1;
	memset(r, 0, sizeof *r);
	r->pid = pid;
	r->parent = parent;
	r->parent_serial = parent == BOARD_NONE ? 0 : record(parent)->xserial;
	r->begin_ns = now_ns();
	snprintf(r->name, sizeof r->name, "%s", name);
	atomic_store(&r->xserial, serial);
	atomic_store(&r->xstate, state);
	moved();
	return r;
}

static void ends(struct board_record *r, uint32_t end, uint32_t status, uint64_t allocated,
		 uint64_t freed)
{
	r->end = end;
	r->status = status;
	r->end_ns = now_ns();
	r->xalloc_bytes = allocated;
	r->xalloc_blocks = allocated / 10;
	r->xfreed_bytes = freed;
	r->xfreed_blocks = freed / 10;
	r->xexact = 1;
	atomic_store(&r->xstate, BOARD_ENDED);
	moved();
}

static const struct process *line(size_t i)
{
	const struct process *list;
	size_t n = processes_list(tree, &list);

	return i < n ? &list[i] : NULL;
}

static size_t lines(void)
{
	const struct process *list;

	return processes_list(tree, &list);
}

static const struct process *named(const char *name)
{
	const struct process *list;

	for (size_t i = 0, n = processes_list(tree, &list); i < n; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

#define NOBODY 4194303u /* no pid here */

TEST(the_first_has_a_line_at_once)
{
	enter();
	CHECK_EQ(lines(), 1);
	CHECK_EQ(line(0)->id, 1);
	CHECK_EQ(line(0)->pid, getpid());
	CHECK(line(0)->matters && line(0)->watch == first);
	leave();
}

TEST(a_process_of_a_millisecond_leaves_its_figures)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "make");
	ends(claim(5, BOARD_RUNNING, NOBODY, 0, "cc1"), BOARD_EXIT, 3, 1000, 400);
	WAIT_FOR(record(5)->xstate == BOARD_FREE);
	CHECK_EQ(lines(), 2);
	const struct process *p = named("cc1");
	CHECK(p != NULL);
	CHECK_EQ(p->state, PROCESS_EXITED);
	CHECK_EQ(p->status, 3);
	CHECK(p->status_known && p->exact && !p->matters);
	CHECK_EQ(p->live_bytes, 600);
	CHECK_EQ(p->live_blocks, 60);
	CHECK_EQ(p->parent, 1);
	CHECK_EQ(p->depth, 1);
	CHECK_STR(line(0)->name, "make");
	struct processes_sum sum;
	processes_total(tree, &sum);
	CHECK_EQ(sum.running, 1);
	CHECK_EQ(sum.lines, 2);
	CHECK_EQ(sum.sum.alloc_bytes, 1000);
	leave();
}

TEST(records_are_used_again_and_ids_are_not)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "make");
	for (unsigned i = 0; i < 5; i++) {
		ends(claim(1, BOARD_RUNNING, NOBODY, 0, "cc1"), BOARD_SIGNAL, 9, 100 + i, 0);
		WAIT_FOR(record(1)->xstate == BOARD_FREE);
	}
	CHECK_EQ(lines(), 6);
	for (unsigned i = 1; i < 6; i++) {
		CHECK_EQ(line(i)->id, i + 1);
		CHECK_EQ(line(i)->live_bytes, 99 + i);
		CHECK_EQ(line(i)->state, PROCESS_SIGNALLED);
	}
	leave();
}

TEST(a_fork_that_executes_has_one_line)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "sh");
	struct board_record *fork = claim(1, BOARD_RUNNING, NOBODY, 0, "");
	fork->forked = 1;
	WAIT_FOR(lines() == 2);
	CHECK_STR(line(1)->name, "sh");
	CHECK(line(1)->forked);
	claim(2, BOARD_EXECING, NOBODY, 1, "");
	snprintf(record(2)->path, sizeof record(2)->path, "/usr/bin/sort");
	atomic_store(&fork->xstate, BOARD_EXECING);
	moved();
	WAIT_FOR(named("sort") != NULL);
	ends(fork, BOARD_EXEC, 0, 50, 0);
	atomic_store(&record(2)->xstate, BOARD_RUNNING);
	moved();
	WAIT_FOR(named("sort")->state == PROCESS_RUNNING && record(1)->xstate == BOARD_FREE);
	CHECK_EQ(lines(), 2);
	CHECK_EQ(named("sort")->parent, 1);
	CHECK_EQ(named("sort")->depth, 1);
	leave();
}

TEST(an_exec_of_the_first_passes_its_watch_on)
{
	enter();
	struct board_record *sh = claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "sh");
	WAIT_FOR(named("sh") != NULL);
	claim(1, BOARD_RUNNING, (unsigned)getpid(), 0, "server");
	WAIT_FOR(named("server") != NULL);
	CHECK_EQ(named("sh")->state, PROCESS_EXECED);
	CHECK(named("sh")->watch == NULL);
	CHECK(named("server")->watch == first);
	CHECK_EQ(named("server")->depth, 0);
	ends(sh, BOARD_EXEC, 0, 10, 0);
	WAIT_FOR(record(0)->xstate == BOARD_FREE);
	processes_first_ended(tree, 3 << 8);
	CHECK_EQ(named("server")->state, PROCESS_EXITED);
	CHECK_EQ(named("server")->status, 3);
	CHECK_EQ(named("sh")->state, PROCESS_EXECED);
	leave();
}

TEST(an_exec_that_fails_leaves_nothing)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "sh");
	claim(1, BOARD_EXECING, 0, 0, "nowhere");
	WAIT_FOR(lines() == 2);
	atomic_store(&record(1)->xstate, BOARD_FREE);
	moved();
	WAIT_FOR(lines() == 1);
	CHECK_STR(line(0)->name, "sh");
	leave();
}

TEST(who_cannot_be_followed_is_named_with_the_reason)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "sh");
	claim(1, BOARD_UNFOLLOWED, NOBODY, 0, "busybox")->why = BOARD_STATIC;
	claim(2, BOARD_EXECING, NOBODY, 0, "");
	snprintf(record(2)->path, sizeof record(2)->path, "/nowhere/prog");
	WAIT_FOR(named("busybox") && named("busybox")->state == PROCESS_UNFOLLOWED);
	CHECK(strstr(named("busybox")->why, "static") != NULL);
	WAIT_FOR(named("prog") && named("prog")->state == PROCESS_UNFOLLOWED);
	CHECK(strstr(named("prog")->why, "never answered") != NULL);
	CHECK(named("prog")->end_ns != 0);
	CHECK_EQ(record(2)->xstate, BOARD_FREE);
	leave();
}

TEST(one_that_is_gone_without_a_word_is_said_to_be)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "sh");
	int pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	claim(1, BOARD_RUNNING, (unsigned)pid, 0, "victim")->xalloc_bytes = 77;
	for (uint64_t end = now_ns() + 1500000000; now_ns() < end;)
		loop_once(loop, 20);
	CHECK_EQ(named("victim")->state, PROCESS_RUNNING);
	kill(pid, 9);
	waitpid(pid, NULL, 0);
	WAIT_FOR(named("victim")->state == PROCESS_GONE);
	CHECK_EQ(named("victim")->live_bytes, 77);
	CHECK(!named("victim")->status_known && !named("victim")->exact);
	CHECK_EQ(record(1)->xstate, BOARD_FREE);
	leave();
}

/* Its server waits for memtop, and no longer than it takes to have all. */
/* Forked right before its parent ended, and not on the board yet. */
TEST(a_child_that_had_no_turn_yet)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "sh");
	WAIT_FOR(named("sh") != NULL);
	CHECK(!processes_unborn(tree));
	int pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	CHECK(processes_unborn(tree));
	claim(1, BOARD_RUNNING, (unsigned)pid, 0, "child");
	WAIT_FOR(named("child") != NULL);
	CHECK(!processes_unborn(tree));
	kill(pid, 9);
	waitpid(pid, NULL, 0);
	leave();
}

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

TEST(inherited_blocks_count_once)
{
	enter();
	struct board_record *master =
		claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "nginx");
	master->xalloc_bytes = 1000;
	struct board_record *worker = claim(1, BOARD_RUNNING, (unsigned)getppid(), 0, "");
	worker->forked = 1;
	worker->xalloc_bytes = 1500;
	worker->before_bytes = 1000;
	worker->inherited_bytes = 1000;
	WAIT_FOR(line(1) && line(1)->live_bytes == 1500);
	struct processes_sum sum;
	processes_total(tree, &sum);
	CHECK_EQ(sum.bytes.least, 1500);
	CHECK_EQ(sum.bytes.most, 1500);
	CHECK_EQ(sum.sum.alloc_bytes, 1500);
	leave();
}

/* 1000 inherited, 300 allocated, 900 freed: of the 400 that are left 300 at most are its own, and
 * maybe none. */
TEST(what_a_fork_freed_was_inherited_or_its_own)
{
	enter();
	ends(claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "python3"), BOARD_EXIT, 0,
	     1000, 1000);
	struct board_record *fork = claim(1, BOARD_RUNNING, NOBODY, 0, "");
	fork->forked = 1;
	fork->before_bytes = fork->inherited_bytes = 1000;
	fork->before_blocks = fork->inherited_blocks = 100;
	ends(fork, BOARD_EXIT, 0, 1300, 900);
	WAIT_FOR(lines() == 2 && line(1)->state == PROCESS_EXITED &&
		 line(0)->state == PROCESS_EXITED);
	struct processes_sum sum;
	processes_total(tree, &sum);
	CHECK_EQ(sum.bytes.least, 0);
	CHECK_EQ(sum.bytes.most, 300);
	CHECK_EQ(sum.blocks.least, 0);
	CHECK_EQ(sum.blocks.most, 30);
	leave();
}

/* A first process that ends before its forks, and what each line is: forked from which line
 * (index), inherited at its fork, live now, runs. Blocks that several have count for the oldest
 * that runs. */
TEST(inherited_blocks_of_those_that_ended)
{
	static const struct {
		const char *what;
		struct {
			int parent; /* -1: the first */
			uint64_t inherited, live;
			bool ended;
		} line[5];
		size_t count;
		uint64_t live;
	} cases[] = {
		{ "a parent that runs",
		  { { -1, 0, 1000, false }, { 0, 1000, 1100, false } },
		  2,
		  1100 },
		{ "a daemon", { { -1, 0, 1000, true }, { 0, 1000, 1100, false } }, 2, 1100 },
		{ "workers without a master",
		  { { -1, 0, 1000, true }, { 0, 1000, 1100, false }, { 0, 1000, 1030, false } },
		  3,
		  1130 },
		{ "the oldest worker ended",
		  { { -1, 0, 1000, true },
		    { 0, 1000, 1100, true },
		    { 0, 1000, 1030, false },
		    { 0, 1000, 1004, false } },
		  4,
		  1034 },
		{ "a grandchild, whose parent ended, has 200 from that",
		  { { -1, 0, 1000, true },
		    { 0, 1000, 1100, false },
		    { 0, 1000, 1200, true },
		    { 2, 1200, 1250, false } },
		  4,
		  1350 },
		{ "a grandchild of a parent that runs",
		  { { -1, 0, 1000, true },
		    { 0, 1000, 1100, false },
		    { 0, 1000, 1200, false },
		    { 2, 1200, 1250, false } },
		  4,
		  1350 },
	};

	pid_t pids[5] = { getpid() };
	for (size_t i = 1; i < 5; i++)
		if (!(pids[i] = fork())) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		enter();
		for (uint32_t i = 0; i < cases[c].count; i++) {
			int parent = cases[c].line[i].parent;
			struct board_record *r =
				claim(i, BOARD_RUNNING, (unsigned)pids[i],
				      parent < 0 ? BOARD_NONE : (uint32_t)parent, "p");
			r->forked = parent >= 0;
			r->before_bytes = r->inherited_bytes = cases[c].line[i].inherited;
			r->xalloc_bytes = cases[c].line[i].live;
			WAIT_FOR(processes_find(tree, i + 1) &&
				 processes_find(tree, i + 1)->live_bytes == cases[c].line[i].live);
		}
		struct processes_sum sum;
		for (uint32_t i = 0; i < cases[c].count; i++)
			if (cases[c].line[i].ended)
				ends(record(i), BOARD_EXIT, 0, cases[c].line[i].live, 0);
		WAIT_FOR((processes_total(tree, &sum), sum.bytes.least == cases[c].live));
		CHECK_EQ(sum.bytes.most, cases[c].live);
		leave();
	}
	for (size_t i = 1; i < 5; i++)
		kill(pids[i], SIGKILL);
}

static void put_process(struct session_writer *w, uint64_t id, uint64_t parent, uint64_t flags,
			uint64_t end_ns, uint64_t peak, uint64_t allocated, uint64_t before)
{
	uint8_t text[256];
	struct mtw_out o = { text, text + sizeof text, false };
	struct err err = { 0 };
	const uint64_t v[] = { id, parent, 100 + id, PROCESS_EXITED, 0, flags, id + 1,
			       0,  end_ns, 1,        allocated,      0, 0,     peak,
			       0,  before, 0,        before };

	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		mtw_put(&o, v[i]);
	mtw_put_string(&o, "p");
	mtw_put_string(&o, "");
	mtw_put_string(&o, "");
	CHECK(!o.full && !session_frame(w, SESSION_TABLE, 1, MTW_S_PROCESS, text,
					(size_t)(o.at - text), &err));
}

static char file[64];
static struct session_writer *writer;

static void begin_file(void)
{
	struct err err = { 0 };

	strcpy(file, "/tmp/t_processes.XXXXXX");
	close(mkstemp(file));
	writer = session_create(file, 0, &err);
	CHECK(writer != NULL);
}

static void read_file(void)
{
	struct processes_options o = { .follow = false };
	struct err err = { 0 };

	CHECK_EQ(session_close(writer, &err), 0);
	loop = loop_new(NULL);
	tree = processes_new(loop, &o, &err);
	CHECK(processes_read(tree, file));
}

static void leave_file(void)
{
	processes_free(tree);
	loop_free(loop);
	unlink(file);
}

TEST(parents_of_a_file_that_go_in_a_ring)
{
	begin_file();
	put_process(writer, 1, 4, 0, 9, 0, 0, 0); /* its parent came later */
	put_process(writer, 2, 3, 0, 9, 0, 0, 0);
	put_process(writer, 3, 2, 0, 9, 0, 0, 0);
	put_process(writer, 4, 0, 0, 9, 0, 0, 0);
	put_process(writer, 5, 5, 0, 9, 0, 0, 0);
	put_process(writer, 6, 1000000, 0, 9, 0, 0, 0);
	read_file();
	CHECK_EQ(lines(), 6);
	CHECK_EQ(processes_find(tree, 1)->depth, 1);
	CHECK_EQ(processes_find(tree, 1)->parent, 4);
	for (uint32_t id = 2; id <= 6; id++)
		CHECK_EQ(processes_find(tree, id)->depth, 0);
	leave_file();
}

TEST(a_session_begins_with_who_allocated_most)
{
	begin_file();
	put_process(writer, 1, 0, 0, 9, 100, 1000, 0);
	put_process(writer, 2, 1, 0, 9, 900, 950, 0);
	put_process(writer, 3, 1, MTW_PROCESS_FORKED, 8, 900, 1100, 1000);
	read_file();
	CHECK_EQ(processes_heaviest(tree)->id, 1);
	leave_file();
}

TEST(a_session_of_a_daemon_begins_with_who_runs_on)
{
	begin_file();
	put_process(writer, 1, 0, 0, 2, 900, 1000, 0);
	put_process(writer, 2, 1, MTW_PROCESS_FORKED, 9, 900, 610, 600);
	put_process(writer, 3, 2, MTW_PROCESS_FORKED, 8, 950, 1110, 610);
	read_file();
	CHECK_EQ(processes_heaviest(tree)->id, 2);
	leave_file();
	begin_file();
	put_process(writer, 1, 0, 0, 2, 900, 1000, 0);
	put_process(writer, 2, 1, MTW_PROCESS_FORKED, 9, 900, 610, 600);
	/* a worker that does more */
	put_process(writer, 3, 2, MTW_PROCESS_FORKED, 8, 950, 1310, 610);
	read_file();
	CHECK_EQ(processes_heaviest(tree)->id, 3);
	leave_file();
}

/* A recorder that was killed wrote the line of one, and the frames of others. */
TEST(a_session_begins_with_one_that_it_has_frames_of)
{
	struct target t = { .kind = TARGET_FILE };
	struct err err = { 0 };

	begin_file();
	put_process(writer, 1, 0, 0, 9, 100, 1000, 0);
	put_process(writer, 2, 1, 0, 9, 900, 3000, 0);
	put_process(writer, 3, 1, 0, 9, 900, 2000, 0);
	CHECK_EQ(session_frame(writer, 2, 1, MTW_S_META, (const uint8_t *)"", 0, &err), 0);
	CHECK_EQ(session_frame(writer, 3, 1, MTW_HELLO, (const uint8_t *)"", 0, &err), 0);
	read_file();
	snprintf(t.name, sizeof t.name, "%s", file);
	CHECK_EQ(processes_choose(tree, NULL, &t, &err), 0);
	CHECK_EQ(t.stream, 3);
	CHECK_STR(processes_note(tree), "p [102]: its call paths are not in this session; this is "
					"p [103], the next largest");
	CHECK(!processes_find(tree, 2)->recorded && processes_find(tree, 3)->recorded);
	leave_file();
}

TEST(a_tree_as_deep_as_it_is_long)
{
	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "p0");
	for (uint32_t i = 1; i < BOARD_RECORDS; i++)
		claim(i, BOARD_RUNNING, (unsigned)getpid(), i - 1, "p");
	WAIT_FOR(lines() == BOARD_RECORDS);
	CHECK_EQ(line(BOARD_RECORDS - 1)->id, BOARD_RECORDS);
	leave();
}

TEST(twenty_thousand_short_ones)
{
	unsigned started = 0;

	enter();
	claim(0, BOARD_RUNNING, (unsigned)getpid(), BOARD_NONE, "make");
	while (started < 20000) {
		for (uint32_t i = 1; i < 2000; i++)
			if (record(i)->xstate == BOARD_FREE && started < 20000)
				ends(claim(i, BOARD_RUNNING, NOBODY, 0, "cc1"), BOARD_EXIT, 0, 10,
				     10),
					started++;
		loop_once(loop, 20);
	}
	WAIT_FOR(lines() == 20001);
	struct processes_sum sum;
	processes_total(tree, &sum);
	CHECK_EQ(sum.sum.alloc_bytes, 200000);
	CHECK_EQ(sum.lines, 20001);
	CHECK_EQ(sum.running, 1);
	atomic_store(&head->xmissed, 7);
	CHECK_EQ(processes_missed(tree), 7);
	leave();
}

/* Whatever is written there: lines are whole, sorted, and end somewhere. */
TEST(a_board_that_is_scribbled_over)
{
	uint64_t state = 1;

	enter();
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned k = 0; k < 3000; k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			uint8_t *at = (uint8_t *)record((uint32_t)(state >> 33) % 64);
			size_t word = (size_t)(state >> 20) % (sizeof(struct board_record) / 4);
			uint32_t value = (uint32_t)(state >> 32);
			((uint32_t *)(void *)at)[word] = k % 3 ? value % 8 : value;
		}
		moved();
		for (uint64_t end = now_ns() + 60000000; now_ns() < end;)
			loop_once(loop, 20);
		const struct process *list;
		size_t n = processes_list(tree, &list);
		for (size_t i = 0; i < n; i++) {
			CHECK(list[i].parent < list[i].id);
			CHECK(memchr(list[i].name, '\0', sizeof list[i].name) != NULL);
			CHECK(list[i].live_bytes <= list[i].sum.alloc_bytes);
			CHECK(list[i].path != NULL);
		}
		struct processes_sum sum;
		processes_total(tree, &sum);
		CHECK(sum.lines >= n);
	}
	leave();
}
