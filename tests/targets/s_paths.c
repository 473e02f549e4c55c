/* SPDX-License-Identifier: MIT
 *
 * s_paths.c - allocates along many distinct call paths. Usage: s_paths DEPTH [hold|MS]
 * Every path through DEPTH levels of two functions allocates one block whose size follows from the
 * path: (number of trailing zero bits + 1) * 16 bytes. With "hold" it then stays until stdin ends;
 * with MS it waits so long before each 1,024th block.
 */
#include "target.h"

#include <unistd.h>

static __attribute__((noinline)) void left(unsigned depth, unsigned path);
static __attribute__((noinline)) void right(unsigned depth, unsigned path);

static void *volatile *kept;
static size_t used;
static unsigned pause_ms;

static __attribute__((noinline)) void leaf(unsigned path)
{
	if (pause_ms && used % 1024 == 0)
		usleep(pause_ms * 1000);
	kept[used++] = malloc(16 * ((path ? (unsigned)__builtin_ctz(path) : 0) + 1));
	__asm__ volatile("");
}

static __attribute__((noinline)) void branch(unsigned depth, unsigned path)
{
	if (depth == 0) {
		leaf(path);
		__asm__ volatile("");
		return;
	}
	left(depth - 1, path << 1);
	right(depth - 1, path << 1 | 1);
	__asm__ volatile("");
}

static void left(unsigned depth, unsigned path)
{
	branch(depth, path);
	__asm__ volatile("");
}

static void right(unsigned depth, unsigned path)
{
	branch(depth, path);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 6;
	char byte;

	EXPECT(depth <= 24);
	kept = malloc(sizeof(*kept) << depth);
	pause_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	branch(depth, 0);
	if (argc > 2 && !pause_ms)
		while (read(0, &byte, 1) > 0)
			;
	return 0;
}
