/* SPDX-License-Identifier: MIT
 *
 * pairs.c - malloc and free in a loop. Usage: pairs PAIRS DEPTH [FRESH]
 *
 * The stack at malloc has DEPTH frames, counted from _start to malloc's caller. FRESH of them, next
 * to the innermost, are entered anew for each pair, each through one of eight functions by chance.
 */
#include <stdlib.h>

#define KEEP __attribute__((noinline, noipa))
#define FIXED 7 /* _start and two more of libc, main, the last deeper, loop, pair */

static unsigned state = 1;

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

#define WAY(n) KEEP static void way##n(int fresh) { enter(fresh); }
WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7)

static way *const ways[8] = { way0, way1, way2, way3, way4, way5, way6, way7 };

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

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 1000;
	int depth = argc > 2 ? atoi(argv[2]) : 10, fresh = argc > 3 ? atoi(argv[3]) : 0;

	deeper(depth - fresh - FIXED, pairs, fresh);
	return 0;
}
