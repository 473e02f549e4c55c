/* SPDX-License-Identifier: MIT
 *
 * calltree.c - a program that only calls and allocates. Usage: calltree PAIRS DEPTH THREADS
 *
 * Each thread walks the same call tree round after round: a single path down to eight frames above
 * DEPTH, then two calls from each function. The 511 stacks and the path down allocate one small
 * block each. The allocating thread frees a block 64 allocations later. PAIRS counts all threads
 * together. Even one worker runs in its own thread, to exclude libc's short cuts for programs
 * without threads.
 */
#include <pthread.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noipa))
#define FIXED 3 /* clone, start_thread, work */
#define FORKS 8
#define KEPT 64
#define MAX_THREADS 1024

static int depth = 10;

struct kept {
	void *block[KEPT];
	unsigned next;
	long left;
};

static void allocate(struct kept *k)
{
	unsigned i = k->next++ % KEPT;

	free(k->block[i]);
	k->block[i] = malloc(16 + i * 7 % 240);
	*(volatile char *)k->block[i] = 1;
	k->left--;
}

KEEP static void walk(struct kept *k, int level)
{
	allocate(k);
	if (level >= depth || k->left <= 0)
		return;
	walk(k, level + 1);
	if (level >= depth - FORKS)
		walk(k, level + 1);
	__asm__ volatile("" ::: "memory");
}

static void *work(void *arg)
{
	struct kept k = { .left = *(long *)arg };

	while (k.left > 0)
		walk(&k, FIXED + 1);
	for (unsigned i = 0; i < KEPT; i++)
		free(k.block[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 1000000;
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t id[MAX_THREADS];

	depth = argc > 2 ? atoi(argv[2]) : 10;
	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	pairs /= threads;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, work, &pairs))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	return 0;
}
