/* SPDX-License-Identifier: MIT
 *
 * stuck.c - tells a call that hangs from one that takes long.
 *
 * A call hangs when its thread has slept in one futex, without a time limit, for three seconds, and
 * every other thread of the process ran meanwhile or sleeps: the holder of the lock had its chance.
 * While another thread is ready but gets no cpu time (a quota), waits for a disk, or is stopped or
 * frozen, the call only takes long: that thread may hold the lock and release it later.
 */
#include "attach/ptrace/stopped_process.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define STUCK_NS 3000000000ull

static bool read_line(pid_t pid, pid_t tid, const char *file, char *text, size_t size)
{
	char path[96];

	snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(text, (int)size, f);
	if (f)
		fclose(f);
	return ok;
}

static bool read_thread(pid_t pid, pid_t tid, struct stuck_thread *t)
{
	char text[1024];
	unsigned long long user, kernel;

	if (!read_line(pid, tid, "stat", text, sizeof text))
		return false;
	const char *at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu",
			  &t->state, &user, &kernel) != 3)
		return false;
	t->tid = tid;
	t->ticks = user + kernel;
	return true;
}

static size_t read_threads(pid_t pid, struct stuck_thread *list)
{
	char path[64];
	size_t count = 0;
	struct dirent *e;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	while (d && count < STUCK_THREADS && (e = readdir(d)))
		if (atoi(e->d_name) > 0 && read_thread(pid, atoi(e->d_name), &list[count]))
			count++;
	if (d)
		closedir(d);
	return count;
}

/* The futex word that the thread sleeps on, 0 = it does something else. */
static uint64_t waits_for(pid_t pid, pid_t tid)
{
	char text[256];
	long nr;
	unsigned long word, op, value, timeout;
	struct stuck_thread t;

	if (!read_thread(pid, tid, &t) || t.state != 'S' ||
	    !read_line(pid, tid, "syscall", text, sizeof text) ||
	    sscanf(text, "%ld %lx %lx %lx %lx", &nr, &word, &op, &value, &timeout) != 5)
		return 0;
	return nr == SYS_futex && !timeout ? word : 0;
}

bool inject_all_had_a_turn(const struct inject_stuck *s, const struct stuck_thread *now,
			   size_t count, pid_t tid)
{
	for (size_t i = 0; i < count; i++) {
		const struct stuck_thread *t = &now[i];
		if (t->tid == tid || t->state == 'S')
			continue;
		for (size_t k = 0; k < s->count; k++)
			if (s->then[k].tid == t->tid && s->then[k].ticks == t->ticks)
				return false;
	}
	return count < STUCK_THREADS;
}

bool inject_is_stuck(struct inject_stuck *s, pid_t pid, pid_t tid)
{
	uint64_t word = waits_for(pid, tid), now = now_ns();

	if (!word || word != s->word) {
		*s = (struct inject_stuck){ .word = word, .since_ns = word ? now : 0 };
		s->count = word ? read_threads(pid, s->then) : 0;
		return false;
	}
	if (now - s->since_ns < STUCK_NS)
		return false;
	struct stuck_thread list[STUCK_THREADS];
	bool stuck = inject_all_had_a_turn(s, list, read_threads(pid, list), tid);
	if (!stuck)
		s->word = 0; /* from the start */
	return stuck;
}
