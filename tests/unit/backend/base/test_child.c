/* SPDX-License-Identifier: MIT
 *
 * test_child.c - what a forked child keeps, and how it ends without memory.
 */
#include "check.h"

#include "base/base.h"
#include "base/child.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool open_still(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* The status of a child that keeps `only`: a bit for each descriptor that it still has. */
static int kept(int only, const int fd[3])
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		child_begin(only);
		_exit(open_still(fd[0]) | open_still(fd[1]) << 1 | open_still(fd[2]) << 2 |
		      open_still(STDERR_FILENO) << 3);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

TEST(a_child_keeps_what_it_needs)
{
	int ends[2], sockets[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	int fd[] = { ends[0], ends[1], sockets[0] };
	CHECK_EQ(kept(-1, fd), 1 | 2 | 8);
	CHECK_EQ(kept(ends[1], fd), 2 | 8);
	CHECK_EQ(kept(sockets[0], fd), 4 | 8);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(sockets[i]);
	}
}

static void end_the_screen(void)
{
	puts("the parent's screen ends");
	fflush(stdout);
}

/* A bug in a child says so, and leaves the parent's screen alone. */
TEST(a_child_with_a_bug_has_no_screen)
{
	int ends[2], status = 0;
	char text[500] = "";

	CHECK_EQ(pipe(ends), 0);
	bug_restore = end_the_screen;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		child_begin(-1);
		BUG("of a child");
	}
	bug_restore = NULL;
	close(ends[1]);
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK(read(ends[0], text, sizeof text - 1) > 0);
	CHECK(strstr(text, "of a child") && !strstr(text, "screen ends"));
	close(ends[0]);
}

TEST(a_child_without_memory_says_nothing)
{
	int ends[2], status = 0;
	char byte;

	CHECK_EQ(pipe(ends), 0);
	FILE *out = fdopen(ends[1], "w");
	CHECK(fputs("the parent's", out) >= 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		child_begin(-1);
		base_out_of_memory();
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_ENDED);
	CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(read(ends[0], &byte, 1), -1);
	fclose(out);
	close(ends[0]);
}
