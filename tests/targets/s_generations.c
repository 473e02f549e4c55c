/* SPDX-License-Identifier: MIT
 *
 * s_generations.c - many threads. Usage: s_generations ROUNDS CROWD [wait]
 * Each round has CROWD threads at once. Each thread keeps a block of 100 bytes, and has another of
 * 60 bytes that it frees. With "wait", the last round's threads live until standard input ends.
 * Allocated by threads: ROUNDS * CROWD * 160 bytes, kept: ROUNDS * CROWD * 100.
 */
#include "target.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void **kept;
static pthread_barrier_t all_there, all_go;

static void *work(void *arg)
{
	size_t at = (size_t)arg;

	kept[at] = malloc(100);
	free(malloc(60));
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_go);
	return NULL;
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1,
	       crowd = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
	pthread_t *threads = calloc(crowd, sizeof *threads);
	pthread_attr_t small;
	char c;

	kept = calloc(rounds * crowd, sizeof *kept);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all_there, NULL, (unsigned)crowd + 1);
	pthread_barrier_init(&all_go, NULL, (unsigned)crowd + 1);
	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < crowd; i++)
			if (pthread_create(&threads[i], &small, work, (void *)(r * crowd + i)))
				return 1;
		pthread_barrier_wait(&all_there);
		if (argc > 3 && r + 1 == rounds)
			while (read(0, &c, 1) > 0)
				;
		pthread_barrier_wait(&all_go);
		for (size_t i = 0; i < crowd; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
