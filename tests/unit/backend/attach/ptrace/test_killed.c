/* SPDX-License-Identifier: MIT
 *
 * test_killed.c - a process that is killed while one of its threads is stopped ends, and its parent
 * hears of it: the tracer waits for the thread.
 */
#include "check.h"
#include "attach/ptrace/stopped_process.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static void *waits(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* A process of two threads, which its parent does not trace; the parent ends when it has. */
static pid_t start(pid_t *parent)
{
	int fds[2];
	pid_t pid = 0;

	CHECK(!pipe(fds));
	*parent = fork();
	if (!*parent) {
		pid = fork();
		if (!pid) {
			pthread_t thread;
			pthread_create(&thread, NULL, waits, NULL);
			pid = getpid();
			(void)!write(fds[1], &pid, sizeof pid);
			waits(NULL);
		}
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	CHECK_EQ(read(fds[0], &pid, sizeof pid), sizeof pid);
	return pid;
}

static pid_t second_thread(pid_t pid)
{
	char path[64];
	struct dirent *e;
	pid_t found = 0;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0 && atoi(e->d_name) != pid)
			found = atoi(e->d_name);
	closedir(d);
	return found;
}

TEST(a_thread_that_was_killed_while_stopped_is_waited_for)
{
	static struct inject_job job;
	static struct inject_result result;
	static struct inject_work w;
	struct inject_thread *t = &w.thread;
	pid_t parent, pid = start(&parent);

	job.pid = pid;
	w.job = &job;
	w.r = &result;
	t->pid = pid;
	t->tid = second_thread(pid);
	CHECK_EQ(inject_thread_stop(t, now_ns() + 10000000000ull), STOP_HERE);
	CHECK(!kill(pid, SIGKILL));
	while (inject_thread_read(t) == 0) /* until the kernel has taken it out of its stop */
		usleep(1000);
	search_release(&w, t);
	CHECK_EQ(w.late_count, 1);
	for (; w.late_count; search_let_late_go(&w))
		usleep(1000);
	CHECK_EQ(waitpid(parent, NULL, 0), parent);
}
