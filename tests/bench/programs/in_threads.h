/* SPDX-License-Identifier: MIT
 *
 * in_threads.h - the clock of the measured programs. The including file defines all_there,
 * MAX_THREADS and work(long *count), which waits at all_there before its measured part.
 */
static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns from the start of all threads to the end of the last. */
static double in_threads(int threads, long count)
{
	pthread_t id[MAX_THREADS];

	pthread_barrier_init(&all_there, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, work, &count))
			exit(1);
	pthread_barrier_wait(&all_there);
	double begin = now_ns();
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	pthread_barrier_destroy(&all_there);
	return now_ns() - begin;
}
