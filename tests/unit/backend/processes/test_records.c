/* SPDX-License-Identifier: MIT
 *
 * test_records.c - what agents write on the board becomes the lines of a process tree.
 */
#include "on_board.h"

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
