/* SPDX-License-Identifier: MIT
 *
 * s_fork.c - allocating children of every kind. Usage: s_fork [daemon|libc-daemon|worker HOW].
 * Without arguments: fork, _Fork, raw clone, vfork and posix_spawn children, one after the other,
 * each checked; ends by itself. "daemon": forks twice and lets the parents go, "libc-daemon" leaves
 * that to daemon(); "worker": one child made by HOW (fork, _Fork, clone). Both then allocate 1,000
 * blocks of 100 bytes, print the child's pid, and allocate and free one block again and again until
 * stdin ends.
 */
#include "target.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void some(void)
{
	for (int i = 0; i < 200; i++)
		free(malloc((size_t)i * 9));
}

static void *in_thread(void *arg)
{
	some();
	return arg;
}

static pid_t make(const char *how)
{
	if (!strcmp(how, "_Fork"))
		return _Fork();
	if (!strcmp(how, "clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	return fork();
}

static void expect_child(pid_t pid, int code)
{
	int status = 0;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static void counted_child(const char *how)
{
	pid_t pid = make(how);

	if (pid == 0) {
		pthread_t t;
		some();
		if (strcmp(how, "clone")) { /* libc knows nothing of a raw clone's thread id */
			EXPECT(!pthread_create(&t, NULL, in_thread, NULL));
			pthread_join(t, NULL);
			pid_t grandchild = fork();
			if (grandchild == 0) {
				some();
				_exit(4);
			}
			expect_child(grandchild, 4);
		}
		_exit(3);
	}
	expect_child(pid, 3);
}

static int linger(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char end[32];

	for (int i = 0; i < 1000; i++)
		keep(malloc(100));
	int n = snprintf(end, sizeof(end), "%d\n", (int)getpid());
	EXPECT(write(1, end, (size_t)n) == n);
	do
		free(malloc(50));
	while (poll(&in, 1, 1) == 0);
	return 0;
}

static int everything(void)
{
	char *args[] = { "true", NULL };
	pid_t pid;

	counted_child("fork");
	counted_child("_Fork");
	counted_child("clone");
	pid = vfork();
	if (pid == 0)
		_exit(5);
	expect_child(pid, 5);
	pid = vfork();
	if (pid == 0) {
		execl("/nowhere/at/all", "x", NULL);
		_exit(6);
	}
	expect_child(pid, 6);
	EXPECT(!posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ));
	expect_child(pid, 0);
	some();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return everything();
	some();
	if (!strcmp(argv[1], "libc-daemon"))
		return daemon(1, 1) ? 1 : linger();
	if (!strcmp(argv[1], "daemon")) {
		if (fork())
			_exit(0);
		setsid();
		if (fork())
			_exit(0);
		return linger();
	}
	pid_t pid = make(argc > 2 ? argv[2] : "fork");
	if (pid == 0)
		return linger();
	waitpid(pid, NULL, 0);
	return 0;
}
