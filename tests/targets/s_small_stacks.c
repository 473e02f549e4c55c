/* SPDX-License-Identifier: MIT
 *
 * s_small_stacks.c - threads with the smallest stack that the C library grants: 2,048 bytes with
 * musl. One after another, each allocates by every function, also in a callback and in the
 * destructor of a thread-specific value. Ends with status 0.
 */
#include "target.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#define THREADS 12

static pthread_key_t key;

static void again(void *p)
{
	free(p);
	void *volatile q = malloc(3000);
	free(q);
}

static int compared(const void *a, const void *b)
{
	void *volatile p = malloc(30);

	free(p);
	return (int)(intptr_t)a - *(const int *)b;
}

static void each_function(size_t i)
{
	static const size_t large = 200000;
	void *volatile p = realloc(malloc(i % 7 * 400 + 20), i * 50 + 1);
	void *q = NULL;

	free(p);
	p = calloc(i, 3);
	free(p);
	EXPECT(!posix_memalign(&q, 64, i));
	free(q);
	p = aligned_alloc(4096, 8192);
	free(p);
	p = malloc(large);
	free(p);
}

static void *run(void *unused)
{
	static const int sorted[] = { 1, 2, 3, 4 };

	for (size_t i = 1; i <= 100; i++)
		each_function(i);
	bsearch((void *)3, sorted, 4, sizeof(*sorted), compared);
	pthread_setspecific(key, malloc(7));
	return unused;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	EXPECT(!pthread_key_create(&key, again) && !pthread_attr_init(&attr));
	EXPECT(!pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN));
	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&thread, &attr, run, NULL) && !pthread_join(thread, NULL));
	return 0;
}
