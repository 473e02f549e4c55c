/* SPDX-License-Identifier: MIT
 *
 * s_named.c - short-lived threads that name themselves before their first allocation, one after the
 * other. Usage: s_named [threads].
 */
#include "target.h"

#include <pthread.h>

static void *work(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "short-%ld", (long)arg);
	pthread_setname_np(pthread_self(), name);
	return malloc(100);
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 20;

	for (long i = 0; i < threads; i++) {
		pthread_t t;
		void *block;
		EXPECT(!pthread_create(&t, NULL, work, (void *)i));
		pthread_join(t, &block);
		free(block);
	}
	return 0;
}
