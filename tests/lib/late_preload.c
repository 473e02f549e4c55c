/* SPDX-License-Identifier: MIT
 *
 * late_preload.c - a thread that cannot be stopped for three seconds, called from code that may
 * hold the allocator's lock.
 *
 * This library defines malloc, so all of its code counts as the allocator's. Before main it prints
 * "ready", then twice computes here and waits for a vfork child, a wait that the kernel never
 * interrupts. Then it prints how often SIGUSR1 came, and ends the program.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

void *__libc_malloc(size_t size);

static volatile sig_atomic_t seen;

EXPORT void *malloc(size_t size)
{
	return __libc_malloc(size);
}

static void on_usr1(int signum)
{
	(void)signum;
	seen++;
}

static void compute(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
		 500);
}

__attribute__((constructor)) static void set_up(void)
{
	struct sigaction act = { .sa_handler = on_usr1 };
	char line[32];

	sigaction(SIGUSR1, &act, NULL);
	if (write(1, "ready\n", 6) != 6)
		_exit(1);
	for (int i = 0; i < 2; i++) {
		compute();
		if (vfork() == 0) {
			poll(NULL, 0, 3000);
			_exit(0);
		}
	}
	int n = snprintf(line, sizeof line, "seen %d\n", (int)seen);
	_exit(write(1, line, (size_t)n) == n ? 0 : 1);
}
