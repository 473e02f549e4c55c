/* SPDX-License-Identifier: MIT
 *
 * s_ebb.c - a heap that grows and shrinks. Reads a letter per line from descriptor 0, answers each
 * with a line on descriptor 1: the blocks allocated so far, the blocks alive, and their bytes. No
 * stdio.
 *
 *   f   fills: 1,600,000 blocks of 40 to 167 bytes, 200 MiB of heap
 *   d   drains: frees them and gives the heap back to the system
 *   s   starts threads that allocate and free all the time, at other places each time
 *   e   ends them
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 1600000, THREADS = 4, BURST = 500, SPACES = 40 };

static void *block[BLOCKS];
static unsigned long allocated, alive, bytes;
static _Atomic int going;
static pthread_t thread[THREADS];
static unsigned long counted[THREADS]; /* by each thread, for main to add up when it has ended */

static size_t size_of(unsigned i)
{
	return 40 + i * 31u % 128;
}

__attribute__((noinline)) static void fill(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (block[i])
			continue;
		block[i] = malloc(size_of(i));
		allocated++;
		alive++;
		bytes += size_of(i);
	}
}

static void drain(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (!block[i])
			continue;
		free(block[i]);
		block[i] = NULL;
		alive--;
		bytes -= size_of(i);
	}
	malloc_trim(0);
}

__attribute__((noinline)) static void *work(void *arg)
{
	void *mine[BURST], *space[SPACES];
	unsigned long *count = arg;
	uint64_t seed = (uintptr_t)arg;

	while (going) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned spaces = seed >> 40 & 31, burst = 1 + (seed >> 50) % BURST;
		for (unsigned i = 0; i < spaces; i++)
			space[i] = malloc(60000);
		for (unsigned i = 0; i < burst; i++)
			mine[i] = malloc(size_of(i));
		mine[0] = realloc(mine[0], 1 + (seed >> 33) % 500);
		for (unsigned i = 0; i < burst; i++)
			free(mine[i]);
		for (unsigned i = 0; i < spaces; i++)
			free(space[i]);
		*count += spaces + burst + 1;
	}
	return NULL;
}

static void threads(int on)
{
	going = on;
	for (int i = 0; i < THREADS; i++) {
		if (on) {
			counted[i] = 0;
			pthread_create(&thread[i], NULL, work, &counted[i]);
		} else {
			pthread_join(thread[i], NULL);
			allocated += counted[i];
		}
	}
}

static void obey(char letter)
{
	if (letter == 'f')
		fill();
	else if (letter == 'd')
		drain();
	else
		threads(letter == 's');
}

int main(void)
{
	char line[2], text[80];

	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	while (read(0, line, 2) == 2) {
		obey(line[0]);
		int n = snprintf(text, sizeof(text), "%lu %lu %lu\n", allocated, alive, bytes);
		if (write(1, text, (size_t)n) != n)
			return 1;
	}
	return 0;
}
