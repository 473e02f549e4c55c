/* SPDX-License-Identifier: MIT
 *
 * stages.c - malloc and free in a loop, once per input line: their cost before an attach, under the
 * agent, and after the detach. Usage: stages PAIRS
 *
 * Half of the pairs are the program's own calls, half libc's (strdup): both reach malloc through
 * slots. Answers each line with the ns of one pair in the fastest of ten parts, because other load
 * only adds time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PARTS 10

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pairs(long count)
{
	static unsigned state = 1;

	for (long i = 0; i < count; i++) {
		state = state * 1664525u + 1013904223u;
		char *p =
			i & 1 ? strdup("a string that is copied") : malloc(16 + (state >> 26) * 8);
		*(volatile char *)p = 1;
		free(p);
	}
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) / PARTS : 0;

	if (count < 1)
		return 2;
	pairs(count);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (getchar() == '\n') {
		double best = 0;
		for (int i = 0; i < PARTS; i++) {
			double begin = now_ns();
			pairs(count);
			double ns = (now_ns() - begin) / (double)count;
			best = i && best < ns ? best : ns;
		}
		printf("ns %.3f\n", best);
	}
	return 0;
}
