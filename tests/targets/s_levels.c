/* SPDX-License-Identifier: MIT
 *
 * s_levels.c - allocates along many distinct call paths without recursion. Usage: s_levels DEPTH
 * [THREADS [free|late]]. Each level has two functions of its own, and each calls both of the next
 * level, so DEPTH levels have 2^DEPTH paths. Each path ends in one of eight call sites, of malloc
 * and of what wraps it in libc. Each thread runs all paths. With "free" each block is freed by
 * another thread than its own, at the end. With "late" each thread begins when the one before it
 * has run all paths, and none ends before the last one has.
 */
#include "target.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

static __thread void **mine; /* its blocks, from the last one back */
static __thread void *last;
static void **blocks[64];

#define SITE(name, call)                                                                           \
	static __attribute__((noinline)) void name(size_t n)                                       \
	{                                                                                          \
		last = call;                                                                       \
		__asm__ volatile("");                                                              \
	}
SITE(by_malloc, malloc(n + 16))
SITE(by_calloc, calloc(n + 1, 16))
SITE(by_realloc, realloc(NULL, n + 32))
SITE(by_strdup, strdup("a text of some bytes" + n % 8))
SITE(by_strndup, strndup("another text", n % 8))
SITE(by_memalign, aligned_alloc(64, 64 + n * 64))
SITE(by_malloc_too, malloc(2 * n + 1))

static __attribute__((noinline)) void by_asprintf(size_t n)
{
	char *text;

	EXPECT(asprintf(&text, "%zu", n) > 0);
	last = text;
}

static void (*const sites[])(size_t) = { by_malloc,  by_calloc,   by_realloc,    by_strdup,
					 by_strndup, by_memalign, by_malloc_too, by_asprintf };

static __attribute__((noinline)) void left_0(unsigned path)
{
	sites[path % 8](path % 7);
	*mine++ = last;
	__asm__ volatile("");
}
#define right_0 left_0

#define LEVEL(to, from)                                                                            \
	static __attribute__((noinline, unused)) void left_##to(unsigned path)                     \
	{                                                                                          \
		left_##from(path << 1);                                                            \
		right_##from(path << 1 | 1);                                                       \
		__asm__ volatile("");                                                              \
	}                                                                                          \
	static __attribute__((noinline, unused)) void right_##to(unsigned path)                    \
	{                                                                                          \
		left_##from(path << 1 | 1);                                                        \
		right_##from(path << 1);                                                           \
		__asm__ volatile("");                                                              \
	}
LEVEL(1, 0)
LEVEL(2, 1)
LEVEL(3, 2)
LEVEL(4, 3)
LEVEL(5, 4)
LEVEL(6, 5)
LEVEL(7, 6)
LEVEL(8, 7)
LEVEL(9, 8)
LEVEL(10, 9)
LEVEL(11, 10)
LEVEL(12, 11)
LEVEL(13, 12)
LEVEL(14, 13)
LEVEL(15, 14)
LEVEL(16, 15)
LEVEL(17, 16)
LEVEL(18, 17)
LEVEL(19, 18)
LEVEL(20, 19)
static void (*const start[])(unsigned) = { left_0,  left_1,  left_2,  left_3,  left_4,  left_5,
					   left_6,  left_7,  left_8,  left_9,  left_10, left_11,
					   left_12, left_13, left_14, left_15, left_16, left_17,
					   left_18, left_19, left_20 };

static unsigned depth;
static bool late;
static sem_t has_run, end;

static void *run(void *place)
{
	mine = *(void ***)place;
	start[depth](0);
	if (late) {
		sem_post(&has_run);
		sem_wait(&end);
	}
	return NULL;
}

static void *release(void *place)
{
	for (unsigned i = 0; i < 1u << depth; i++)
		free((*(void ***)place)[i]);
	return NULL;
}

static void each(int threads, void *(*work)(void *))
{
	pthread_t thread[64];

	for (int i = 0; i < threads; i++) {
		EXPECT(pthread_create(&thread[i], NULL, work, &blocks[i]) == 0);
		if (late)
			sem_wait(&has_run);
	}
	for (int i = 0; late && i < threads; i++)
		sem_post(&end);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;

	depth = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
	EXPECT(depth <= 20 && threads <= 64);
	for (int i = 0; i < threads; i++) /* not the heap's */
		blocks[i] = mmap(NULL, sizeof(void *) << depth, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	late = argc > 3 && !strcmp(argv[3], "late");
	each(threads, run);
	if (argc > 3 && !late)
		each(threads, release);
	return 0;
}
