/* SPDX-License-Identifier: MIT
 *
 * s_memory.c - resident memory of every kind, in known amounts. Says "ready" and waits for its
 * input to end. With "more": half of the live blocks are freed then, and it says "less". With
 * "beside": only aligned blocks beside mappings of its own, and a thread whose stack lies in a
 * block.
 */
#include "target.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIVE_BLOCKS 1000  /* of BLOCK bytes */
#define FREED_BLOCKS 2000 /* of BLOCK bytes, each before a small one that stays */
#define BLOCK 20000
#define PIN 100
#define UNTOUCHED (100u << 20)
#define OWN (16u << 20)
#define SHARED (8u << 20)
#define STACK (4u << 20)

static void *live[LIVE_BLOCKS], *freed[FREED_BLOCKS], *pin[FREED_BLOCKS];

static void *filled(size_t size)
{
	void *p = malloc(size);

	EXPECT(p);
	return memset(p, 1, size);
}

static void *thread(void *arg)
{
	volatile char deep[STACK];
	char c;

	for (size_t i = 0; i < sizeof(deep); i += 1024)
		deep[i] = 1;
	free(malloc(10));
	EXPECT(write(1, "ready\n", 6) == 6);
	EXPECT(read(0, &c, 1) >= 0);
	return arg;
}

static void *wait_here(void *arg)
{
	char c;

	free(malloc(10));
	EXPECT(write(1, "ready\n", 6) == 6);
	while (read(0, &c, 1) > 0)
		;
	return arg;
}

static int beside(void)
{
	pthread_attr_t attr;
	pthread_t t;

	for (int i = 0; i < 20; i++) {
		void *block = NULL, *own = mmap(NULL, 4u << 20, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		EXPECT(own != MAP_FAILED && !posix_memalign(&block, 4096, 3u << 20));
		memset(own, 1, 4u << 20);
		keep(memset(block, 1, 3u << 20));
	}
	void *stack = filled(2u << 20);
	EXPECT(!pthread_attr_init(&attr) &&
	       !pthread_attr_setstack(&attr, (char *)stack + 64, (2u << 20) - 64));
	EXPECT(!pthread_create(&t, &attr, wait_here, NULL));
	pthread_join(t, NULL);
	return stack == NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 1 && !strcmp(argv[1], "beside"))
		return beside();
	for (int i = 0; i < LIVE_BLOCKS; i++)
		live[i] = filled(BLOCK);
	for (int i = 0; i < FREED_BLOCKS; i++) {
		freed[i] = filled(BLOCK);
		pin[i] = filled(PIN);
	}
	for (int i = 0; i < FREED_BLOCKS; i++)
		free(freed[i]);
	void *untouched = malloc(UNTOUCHED);
	EXPECT(untouched);
	void *own = mmap(NULL, OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(own != MAP_FAILED);
	memset(own, 1, OWN);
	int fd = memfd_create("parts", MFD_CLOEXEC);
	EXPECT(fd >= 0 && !ftruncate(fd, SHARED));
	void *shared = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(shared != MAP_FAILED);
	memset(shared, 1, SHARED);
	EXPECT(!pthread_create(&t, NULL, thread, NULL));
	pthread_join(t, NULL);
	if (argc > 1) {
		for (int i = 0; i < LIVE_BLOCKS; i += 2)
			free(live[i]);
		EXPECT(write(1, "less\n", 5) == 5);
	}
	char c;
	while (read(0, &c, 1) > 0)
		;
	keep(untouched);
	return 0;
}
