/* SPDX-License-Identifier: MIT
 *
 * s_apart.c - how far past its blocks a program can write before it faults. The agent must not make
 * that farther: its own memory may not lie next to the program's.
 *
 *   s_apart  prints a line for each block: what it is, and the KiB up and down to the first page
 *            that cannot be written, at most FAR. The blocks are from mmap and from malloc, before
 *            and after work that makes the agent's tables grow: many stacks, threads, much heap.
 */
#include "target.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BLOCK ((size_t)1 << 20)
#define FAR ((size_t)64 << 20)
#define PAGE 4096u
#define BLOCKS 4
#define HEAP 40000u
#define DEPTH 9

static sigjmp_buf out;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

/* Writes what is there already. */
static size_t reach(uintptr_t at, intptr_t step)
{
	volatile size_t far = 0;

	if (sigsetjmp(out, 1))
		return far;
	for (; far < FAR; far += PAGE, at += (uintptr_t)step)
		atomic_fetch_or((_Atomic uint8_t *)at, 0);
	return far;
}

static void tell(const char *what, void *p, size_t bytes)
{
	uintptr_t at = (uintptr_t)p & ~(uintptr_t)(PAGE - 1);
	uintptr_t end = ((uintptr_t)p + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

	size_t up = reach(end, PAGE), down = reach(at - PAGE, -(intptr_t)PAGE);
	printf("%s %zu %zu\n", what, up >> 10, down >> 10);
}

/* 3^DEPTH stacks, each with a block that stays. */
static void spread(int depth, int way)
{
	if (!depth) {
		keep(malloc(40));
		return;
	}
	if (way == 0)
		spread(depth - 1, 0);
	else if (way == 1)
		spread(depth - 1, 1);
	else
		spread(depth - 1, 2);
	if (way)
		spread(depth - 1, way - 1);
	keep(malloc(16));
}

static void *in_thread(void *arg)
{
	spread(DEPTH, 2);
	return arg;
}

static void grow(void)
{
	pthread_t thread[8];

	for (size_t i = 0; i < HEAP; i++)
		keep(malloc(1000));
	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread[i], NULL, in_thread, NULL))
			abort();
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
}

static void blocks(const char *malloced, const char *mapped)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *m = malloc(BLOCK), *p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (!m || p == MAP_FAILED)
			abort();
		tell(malloced, m, BLOCK);
		tell(mapped, p, BLOCK);
	}
}

int main(void)
{
	struct sigaction fault = { .sa_handler = on_fault };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	blocks("malloc", "mmap");
	grow();
	blocks("malloc, later", "mmap, later");
	return 0;
}
