/* SPDX-License-Identifier: MIT
 *
 * s_extremes.c - extreme shapes of a tree: 60 levels, each of which allocates and calls the next,
 * so that no row folds; a function that calls itself 150 times, and 300 times, deeper than stacks
 * are taken; two that call each other; and argv[1] blocks (100) of one site. "wait" after that:
 * then waits to be ended.
 */
#include "target.h"

#include <unistd.h>

#define HERE __asm__ volatile("" ::: "memory") /* no call is a jump */
#define NOINLINE __attribute__((noinline))

static void *volatile kept;
static void **many;

#define LEVEL(n, next)                                                                             \
	static NOINLINE void level_##n(void)                                                       \
	{                                                                                          \
		kept = malloc(1000 + n);                                                           \
		next();                                                                            \
		HERE;                                                                              \
	}

static NOINLINE void bottom(void)
{
	kept = malloc(100000);
	HERE;
}

LEVEL(59, bottom)
/* clang-format off */
#define TEN(t, first)                                                                              \
	LEVEL(t##8, level_##t##9) LEVEL(t##7, level_##t##8)                                        \
	LEVEL(t##6, level_##t##7) LEVEL(t##5, level_##t##6)                                        \
	LEVEL(t##4, level_##t##5) LEVEL(t##3, level_##t##4)                                        \
	LEVEL(t##2, level_##t##3) LEVEL(t##1, level_##t##2)                                        \
	LEVEL(first, level_##t##1)
/* clang-format on */
TEN(5, 50)
LEVEL(49, level_50)
TEN(4, 40)
LEVEL(39, level_40)
TEN(3, 30)
LEVEL(29, level_30)
TEN(2, 20)
LEVEL(19, level_20)
TEN(1, 10)

static NOINLINE void again(int n)
{
	if (n)
		again(n - 1);
	else
		kept = malloc(50000);
	HERE;
}

static NOINLINE void ping(int n);
static NOINLINE void pong(int n)
{
	if (n)
		ping(n - 1);
	else
		kept = malloc(40000);
	HERE;
}

static NOINLINE void ping(int n)
{
	pong(n);
	HERE;
}

static NOINLINE void one_of_many(long i)
{
	many[i] = malloc(16);
	HERE;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 100;

	level_10();
	again(150);
	ping(70);
	again(300);
	many = malloc((size_t)count * sizeof *many);
	EXPECT(many);
	for (long i = 0; i < count; i++)
		one_of_many(i);
	while (argc > 2)
		pause();
	return 0;
}
