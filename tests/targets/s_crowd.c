/* SPDX-License-Identifier: MIT
 *
 * s_crowd.c - many threads at once: each allocates 200 blocks, and waits until all have. Then the
 * process ends under them. Usage: s_crowd THREADS. Status 77: the system gives fewer threads.
 */
#include "target.h"

#include <pthread.h>
#include <unistd.h>

#define BLOCKS 200

static pthread_barrier_t barrier;

static void *work(void *arg)
{
	for (int i = 0; i < BLOCKS; i++)
		*(void *volatile *)&arg = malloc((size_t)i + 1);
	pthread_barrier_wait(&barrier);
	pause();
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 100;
	pthread_attr_t small;
	pthread_t t;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t, &small, work, NULL))
			_exit(77);
	pthread_barrier_wait(&barrier);
	_exit(0);
}
