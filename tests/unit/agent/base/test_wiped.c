/* SPDX-License-Identifier: MIT
 *
 * test_wiped.c - memory that is cleared in a forked child: by the kernel, or by the agent on
 * kernels that cannot.
 */
#include "check.h"
#include "refuse.h"
#include "base/wiped.h"

#include <errno.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static volatile int *word;

static void map(bool by_hand)
{
	if (by_hand)
		CHECK(refuse(SYS_madvise, 2, 18 /* MADV_WIPEONFORK */, EINVAL));
	word = mt_wiped_map(8192);
	CHECK(word && !*word);
	word[0] = word[1500] = 1;
	CHECK_EQ(mt_wiped_by_hand, by_hand);
}

static int of_child(pid_t pid)
{
	int status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, __WALL) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void fork_twice(void)
{
	pid_t pid = fork();

	if (!pid) {
		if (word[0] || word[1500])
			_exit(1);
		word[0] = 2;
		mt_wiped_look(); /* a second time it clears nothing */
		if (word[0] != 2)
			_exit(3);
		if (!fork())
			_exit(word[0] ? 4 : 0);
		int status;
		wait(&status);
		_exit(word[0] == 2 ? WEXITSTATUS(status) : 5);
	}
	CHECK_EQ(of_child(pid), 0);
	CHECK_EQ(word[0], 1);
	CHECK_EQ(word[1500], 1);
}

TEST(the_kernel_wipes_a_childs_pages)
{
	map(false);
	fork_twice();
}

TEST(children_wipe_where_the_kernel_does_not)
{
	map(true);
	fork_twice();
	int terminal;
	pid_t pid = forkpty(&terminal, NULL, NULL, NULL); /* forks inside libc */
	if (!pid)
		_exit(word[0]);
	CHECK_EQ(of_child(pid), 0);
}

TEST(wiped_by_hand_in_a_child_that_runs_no_handler)
{
	map(true);
	for (int turn = 0; turn < 3; turn++) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			mt_wiped_look();
			if (word[0] || word[1500])
				_exit(1);
			word[0] = 2;
			mt_wiped_look();
			_exit(word[0] == 2 ? 0 : 2);
		}
		CHECK_EQ(of_child(pid), 0);
		mt_wiped_look(); /* the parent is no child */
		CHECK_EQ(word[0], 1);
	}
}

static int looks(void *arg)
{
	mt_wiped_look();
	return *word == 1 ? 0 : *(int *)arg;
}

/* It has another number, and the same memory. */
TEST(not_wiped_in_a_child_that_shares_the_memory)
{
	static char stack[65536];
	int wrong = 1;

	map(true);
	CHECK_EQ(of_child(clone(looks, stack + sizeof(stack), CLONE_VM | SIGCHLD, &wrong)), 0);
	CHECK_EQ(of_child(clone(looks, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
				&wrong)),
		 0);
	CHECK_EQ(word[0], 1);
}

TEST(wiped_by_hand_locked_memory)
{
	map(true);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		printf("  memory cannot be locked here: %s\n", strerror(errno));
	fork_twice();
}
