/* SPDX-License-Identifier: MIT
 *
 * s_cohorts.c - blocks whose stack, thread and birth are known. Each byte of input is a command,
 * answered with a line: e: 100 blocks of 1,000 from early(); w: 50 of 200 from worker(), by a
 * thread named "io-7"; f: every second one of early() is freed; m: one of 16 from each of 65,536
 * stacks. It frees nothing at its end.
 */
#include "target.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define EARLY 100

static void *blocks[EARLY];
static sem_t begin, done;

__attribute__((noinline)) static void early(void)
{
	for (int i = 0; i < EARLY; i++)
		blocks[i] = malloc(1000);
}

__attribute__((noinline)) static void late(void)
{
	for (int i = 0; i < 50; i++)
		keep(malloc(200));
}

static void *worker(void *arg)
{
	pthread_setname_np(pthread_self(), "io-7");
	for (;;) {
		sem_wait(&begin);
		late();
		sem_post(&done);
	}
	return arg;
}

/* Two places that call make two paths. */
__attribute__((noinline)) static void branch(int depth)
{
	if (!depth) {
		keep(malloc(16));
		return;
	}
	branch(depth - 1);
	branch(depth - 1);
	__asm__ volatile("");
}

int main(void)
{
	pthread_t t;
	char c;

	EXPECT(!sem_init(&begin, 0, 0) && !sem_init(&done, 0, 0));
	EXPECT(!pthread_create(&t, NULL, worker, NULL));
	write(1, "ready\n", 6);
	while (read(0, &c, 1) == 1) {
		if (c == 'e') {
			early();
		} else if (c == 'w') {
			sem_post(&begin);
			sem_wait(&done);
		} else if (c == 'f') {
			for (int i = 0; i < EARLY; i += 2)
				free(blocks[i]);
		} else if (c == 'm') {
			branch(16);
		}
		write(1, "done\n", 5);
	}
	return 0;
}
