/* SPDX-License-Identifier: MIT
 *
 * s_random_tree.c - a random tree of processes, the same for each seed.
 *
 * Usage: s_random_tree SEED DEPTH MS. A process makes some random steps: it allocates, waits,
 * starts a child by fork, vfork, posix_spawn, system() or a double fork, executes itself, or ends
 * by a status or a signal. A child has a seed of its own, one DEPTH less, and the rest of MS,
 * after which nobody waits any more. The second argument of an image is its name: argv[0].
 */
#include "target.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char self[4096];
static uint64_t state, end_ms;

static unsigned next(unsigned below)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (unsigned)((z ^ z >> 31) % below);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t rest_ms(void)
{
	uint64_t now = now_ms();

	return end_ms > now ? end_ms - now : 0;
}

static void allocate(void)
{
	static const unsigned counts[] = { 3, 100, 3000, 20000 };
	unsigned n = counts[next(4)], kept = next(2) ? n : n / 4;

	for (unsigned i = 0; i < n; i++) {
		void *volatile p = malloc(1000);
		if (i >= kept)
			free(p);
	}
}

/* Some wait in a call, some compute and allocate. */
static void wait_some(void)
{
	static const unsigned times[] = { 20, 200, 700, 1300, 2400, 3100 };
	uint64_t ms = times[next(6)], until;
	int how = (int)next(3);

	ms = ms < rest_ms() ? ms : rest_ms();
	until = now_ms() + ms;
	if (!how)
		usleep((useconds_t)ms * 1000);
	while (now_ms() < until) {
		free(malloc(64));
		poll(NULL, 0, how == 1 ? 10 : 1);
	}
}

struct image {
	char seed[16], depth[16], ms[16], name[16];
	char *argv[5];
};

static void image_of(struct image *i, unsigned depth)
{
	unsigned seed = next(1u << 30);

	snprintf(i->seed, sizeof(i->seed), "%u", seed);
	snprintf(i->depth, sizeof(i->depth), "%u", depth);
	snprintf(i->ms, sizeof(i->ms), "%u", (unsigned)rest_ms());
	snprintf(i->name, sizeof(i->name), "r%u", seed % 1000);
	i->argv[0] = i->name;
	i->argv[1] = i->seed;
	i->argv[2] = i->depth;
	i->argv[3] = i->ms;
	i->argv[4] = NULL;
}

static void live(unsigned depth);

static pid_t child(unsigned depth)
{
	struct image i;
	char line[4200];
	unsigned how = next(6), seed = next(1u << 30);
	pid_t pid = -1;

	image_of(&i, depth - 1);
	if (how == 0) { /* a subshell */
		if ((pid = fork()) == 0) {
			state = seed;
			live(depth - 1);
		}
	} else if (how == 1) { /* the usual start of a program */
		if ((pid = fork()) == 0) {
			execv(self, i.argv);
			_exit(126);
		}
	} else if (how == 2) {
		if ((pid = vfork()) == 0) {
			execv(self, i.argv);
			_exit(126);
		}
	} else if (how == 3) {
		posix_spawn(&pid, self, NULL, NULL, i.argv, environ);
	} else if (how == 4) {
		snprintf(line, sizeof(line), "%s %s %s %s%s", self, i.seed, i.depth, i.ms,
			 seed % 2 ? "; true" : "");
		if (system(line) < 0)
			_exit(125);
	} else { /* a daemon */
		if ((pid = fork()) == 0) {
			setsid();
			if (fork())
				_exit(0);
			state = seed;
			live(depth - 1);
		}
	}
	return pid;
}

static void end(void)
{
	static const int signals[] = { SIGKILL, SIGTERM, SIGSEGV, SIGABRT };
	unsigned how = next(8);

	if (how < 4)
		raise(signals[how]);
	if (how == 4)
		_exit(4);
	exit((int)how);
}

static void live(unsigned depth)
{
	struct image i;
	pid_t last = -1;

	for (unsigned step = 4 + next(4); step; step--) {
		unsigned what = next(10);
		if (what < 3)
			allocate();
		else if (what < 6)
			wait_some();
		else if (what < 8 && depth)
			last = child(depth);
		else if (what == 8 && last > 0 && next(3) == 0)
			kill(last, SIGKILL);
		else if (what == 9 && depth) {
			image_of(&i, depth - 1);
			execv(self, i.argv);
		}
	}
	if (next(4))
		while (wait(NULL) > 0)
			;
	end();
}

int main(int argc, char **argv)
{
	EXPECT(argc == 4);
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	EXPECT(n > 0);
	state = strtoul(argv[1], NULL, 10);
	end_ms = now_ms() + strtoul(argv[3], NULL, 10);
	allocate();
	live((unsigned)strtoul(argv[2], NULL, 10));
}
