/* SPDX-License-Identifier: MIT
 *
 * pairs.c - malloc and free in a loop. Usage: pairs PAIRS DEPTH [FRESH [THREADS]]
 *
 * The stack at malloc has DEPTH frames, counted from _start (in a thread from clone) to malloc's
 * caller. FRESH of them, next to the innermost, are re-entered for each pair, each through a random
 * one of eight functions. Without THREADS the main thread runs once and prints nothing, for
 * callgrind. With THREADS each thread runs a quarter of the pairs, then all; it prints the ns of
 * one pair from the difference, which excludes everything else.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noipa))
#define FIXED_MAIN 7   /* _start and two more of libc, main, the last deeper, loop, pair */
#define FIXED_THREAD 6 /* clone and start_thread, work, the last deeper, loop, pair */
#define MAX_THREADS 64

static __thread unsigned state = 1;

static unsigned chance(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 24;
}

KEEP static void pair(void)
{
	void *p = malloc(16 + (state >> 26) * 8);

	*(volatile char *)p = 1;
	free(p);
}

typedef void way(int fresh);
static way *const ways[8];

static inline void enter(int fresh)
{
	unsigned n = chance() & 7;

	if (fresh > 0)
		ways[n](fresh - 1);
	else
		pair();
	__asm__ volatile("" ::: "memory"); /* not a tail call */
}

#define WAY(n)                                                                                     \
	KEEP static void way##n(int fresh)                                                         \
	{                                                                                          \
		enter(fresh);                                                                      \
	}
/* clang-format off */
WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7)

static way *const ways[8] = { way0, way1, way2, way3, way4, way5, way6, way7 };
/* clang-format on */

KEEP static void loop(long pairs, int fresh)
{
	while (pairs-- > 0)
		enter(fresh);
}

KEEP static void deeper(int frames, long pairs, int fresh)
{
	if (frames > 0)
		deeper(frames - 1, pairs, fresh);
	else
		loop(pairs, fresh);
	__asm__ volatile("" ::: "memory");
}

static int depth = 10, fresh;
static pthread_barrier_t all_there;

static void *work(void *arg)
{
	pthread_barrier_wait(&all_there);
	deeper(depth - fresh - FIXED_THREAD, *(long *)arg, fresh);
	return NULL;
}

#include "in_threads.h"

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 1000;
	int threads = argc > 4 ? atoi(argv[4]) : 0;

	depth = argc > 2 ? atoi(argv[2]) : 10;
	fresh = argc > 3 ? atoi(argv[3]) : 0;
	if (threads < 0 || threads > MAX_THREADS)
		return 2;
	if (!threads) {
		deeper(depth - fresh - FIXED_MAIN, pairs, fresh);
		return 0;
	}
	double quarter = in_threads(threads, pairs / 4), whole = in_threads(threads, pairs);
	printf("ns %.3f\n", (whole - quarter) / (double)(pairs - pairs / 4));
	return 0;
}
