/* SPDX-License-Identifier: MIT
 *
 * threads.c - many short threads, eight at a time, each with a few allocations. Usage: threads
 * [THREADS]
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 8

static void *work(void *arg)
{
	char *kept = NULL;

	for (int i = 0; i < 50; i++) {
		char *p = malloc(24 + (size_t)(i * 37 % 300));
		if (!p)
			abort();
		memset(p, i, 24);
		free(kept);
		kept = p;
	}
	free(kept);
	return arg;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 10000;
	pthread_t id[AT_ONCE];

	for (long i = 0; i < threads + AT_ONCE; i++) {
		if (i >= AT_ONCE)
			pthread_join(id[i % AT_ONCE], NULL);
		if (i < threads && pthread_create(&id[i % AT_ONCE], NULL, work, NULL))
			return 1;
	}
	return 0;
}
