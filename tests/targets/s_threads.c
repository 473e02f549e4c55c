/* SPDX-License-Identifier: MIT
 *
 * s_threads.c - threads that come and go, hand blocks to each other, name themselves, and free
 * what others allocated, also in the destructors of thread-specific data, round after round.
 * Usage: s_threads [rounds]. Totals depend on the number of rounds alone.
 */
#include "target.h"

#include <pthread.h>

#define THREADS 8
#define BLOCKS 500

static void *mailbox[THREADS][BLOCKS];
static pthread_barrier_t barrier;
static pthread_key_t key;

/* Re-arms itself twice: runs after other destructors, when an agent may think the thread is
 * over. */
static void destroy(void *value)
{
	int round = *(int *)value;

	free(value);
	if (round < 3) {
		int *next = malloc(sizeof(*next) + (size_t)round);
		*next = round + 1;
		pthread_setspecific(key, next);
	}
}

static void *work(void *arg)
{
	long me = (long)arg;
	char name[16];
	int *value = malloc(sizeof(*value));

	snprintf(name, sizeof(name), "worker-%ld", me);
	pthread_setname_np(pthread_self(), name);
	*value = 1;
	pthread_setspecific(key, value);
	for (int i = 0; i < BLOCKS; i++)
		mailbox[me][i] = malloc((size_t)(i * 3 + me));
	pthread_barrier_wait(&barrier);
	long other = (me + 1) % THREADS;
	for (int i = 0; i < BLOCKS; i++) {
		mailbox[other][i] = realloc(mailbox[other][i], (size_t)(i * 5 + 1));
		free(mailbox[other][i]);
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5;

	pthread_key_create(&key, destroy);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int r = 0; r < rounds; r++) {
		pthread_t t[THREADS];
		for (long i = 0; i < THREADS; i++)
			EXPECT(!pthread_create(&t[i], NULL, work, (void *)i));
		for (int i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
	}
	return 0;
}
