/* SPDX-License-Identifier: MIT
 *
 * s_room.c - a program that is short of memory.
 *
 *   s_room lock N    allocates N KiB, locks all of its memory, also what comes later, allocates N
 *                    KiB more, and prints the KiB locked and resident; "refused" where it may not
 *   s_room threads   starts threads with stacks of 8 MiB until it gets no more, and prints how many
 */
#include "target.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long status(const char *name)
{
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			kib = atol(line + strlen(name) + 1);
	if (f)
		fclose(f);
	return kib;
}

static void take(int kib)
{
	for (int i = 0; i < kib; i++)
		keep(memset(malloc(1000), 1, 1000));
}

static int locked(int kib)
{
	take(kib);
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		puts("refused");
		return 0;
	}
	take(kib);
	printf("%ld %ld\n", status("VmLck"), status("VmRSS"));
	return 0;
}

static void *waits(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static int threads(void)
{
	pthread_t thread[MOST];
	pthread_attr_t attr;
	int n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)8 << 20);
	pthread_mutex_lock(&lock);
	while (n < MOST && !pthread_create(&thread[n], &attr, waits, NULL))
		n++;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("%d\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "lock"))
		return locked(atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "threads"))
		return threads();
	return 2;
}
