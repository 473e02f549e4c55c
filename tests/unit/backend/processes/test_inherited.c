/* SPDX-License-Identifier: MIT
 *
 * test_inherited.c - what a fork inherited counts once in the sums over a tree.
 */
#include "on_board.h"

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
