/* SPDX-License-Identifier: MIT
 *
 * s_swings.c - `s_swings PERIOD LEAK`: swing() gets a block of 10,000 bytes every 10 ms and frees
 * all of them every PERIOD ms; leak() loses LEAK bytes as often. Until SIGTERM.
 */
#include "target.h"

#include <time.h>

#define BLOCK 10000u
#define MOST 100000u

static void *kept[MOST];
static unsigned count;

static __attribute__((noinline)) void swing(void)
{
	if (count < MOST)
		kept[count++] = malloc(BLOCK);
	__asm__ volatile("");
}

static __attribute__((noinline)) void leak(size_t bytes)
{
	void *volatile lost = malloc(bytes);

	(void)lost;
}

static long ms_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long period = argc > 1 ? atol(argv[1]) : 5000, begin = ms_now(), swings = 0;
	size_t lost = argc > 2 ? (size_t)atol(argv[2]) : 0;

	for (;;) {
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
		if ((ms_now() - begin) / period != swings) {
			swings = (ms_now() - begin) / period;
			while (count)
				free(kept[--count]);
		}
		swing();
		if (lost)
			leak(lost);
	}
}
