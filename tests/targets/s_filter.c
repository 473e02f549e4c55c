/* SPDX-License-Identifier: MIT
 *
 * s_filter.c - for filters that change while it runs. Says "ready" when 1,000 blocks of 100 bytes
 * are there and some threads run, which allocate, move and free until its standard input ends;
 * frees everything and says so. No thread starts after "ready": the C library keeps a thread's
 * descriptor, and a filter set meanwhile might sample it. Usage: s_filter [threads, 0]. After
 * "ready" each line of input is answered with "rounds N".
 */
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define EARLY 1000
#define HELD 64
#define THREADS_MAX 16

static void *early_blocks[EARLY];
static _Atomic int xstop;
static _Atomic unsigned long xrounds;

__attribute__((noinline)) static void early(void)
{
	for (int i = 0; i < EARLY; i++)
		early_blocks[i] = malloc(100);
}

__attribute__((noinline)) static void *churn(void *arg)
{
	void *held[HELD] = { NULL };
	unsigned seed = (unsigned)(long)arg + 1;

	while (!atomic_load(&xstop)) {
		for (int i = 0; i < 1000; i++) {
			seed = seed * 1103515245 + 12345;
			void **p = &held[(seed >> 16) % HELD];
			size_t size = (seed >> 8) % 3000;
			if (seed & 1u << 30) {
				*p = realloc(*p, size + 1);
			} else {
				free(*p);
				*p = malloc(size);
			}
		}
		atomic_fetch_add(&xrounds, 1);
	}
	for (int i = 0; i < HELD; i++)
		free(held[i]);
	return NULL;
}

static void say(const char *text, unsigned long n)
{
	char line[64];

	write(1, line, (size_t)snprintf(line, sizeof(line), "%s %lu\n", text, n));
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t t[THREADS_MAX];
	char c;

	EXPECT(threads <= THREADS_MAX);
	early();
	for (long i = 0; i < threads; i++)
		EXPECT(!pthread_create(&t[i], NULL, churn, (void *)i));
	say("ready", EARLY);
	while (read(0, &c, 1) == 1) {
		if (c != '\n')
			continue;
		unsigned long seen = atomic_load(&xrounds);
		while (threads && atomic_load(&xrounds) < seen + 2)
			usleep(100);
		say("rounds", atomic_load(&xrounds));
	}
	atomic_store(&xstop, 1);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < EARLY; i++)
		free(early_blocks[i]);
	say("freed", 0);
	return 0;
}
