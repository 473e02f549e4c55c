/* SPDX-License-Identifier: MIT
 *
 * s_alloc.cc - every function of the malloc family and every operator new, from four threads,
 * with its own counts. tests/recording/test_allocators.py links it to other allocators, or
 * preloads them. Usage: s_alloc use|wait [nodup]. Prints what all its threads did, in calls from
 * work() and below:
 *   blocks allocated, bytes allocated, blocks alive, bytes alive
 * "wait" then reads stdin to its end, so that it can be looked at alive. "nodup": without strdup.
 */
#include "target.h"

#include <malloc.h>
#include <new>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 2000

struct counts {
	size_t blocks, bytes, freed_blocks, freed_bytes;
};

/* Handed from thread to thread to be freed there; what is still here at the end is alive. */
struct held {
	void *block;
	size_t bytes;
	int way;
};
static held shelf[512];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* clang-format off */
enum { MALLOC, CALLOC, REALLOC, MEMALIGN, POSIX, ALIGNED, VALLOC, ARRAY, DUPLICATE,
       /* those above are freed by free() */
       NEW, NEW_ARRAY, NEW_NOTHROW, NEW_ALIGNED, NEW_ARRAY_ALIGNED, NEW_SIZED, WAYS };
/* clang-format on */

static void *volatile sink;
static bool nodup;

static void *checked(void *p, size_t align)
{
	EXPECT(p && (uintptr_t)p % align == 0);
	sink = p;
	return p;
}

static void add(counts *c, size_t bytes)
{
	c->blocks++;
	c->bytes += bytes;
}

static void sub(counts *c, size_t bytes)
{
	c->freed_blocks++;
	c->freed_bytes += bytes;
}

/* Three blocks, of which one remains; and requests that cannot be met, which change nothing. */
static void *by_realloc(counts *c, size_t n)
{
	void *p = checked(realloc(nullptr, n / 3), 8), *q;
	volatile size_t huge = SIZE_MAX / 4;

	add(c, n / 3);
	EXPECT(!realloc(p, huge));
	p = checked(realloc(p, 2 * n + 1), 8);
	sub(c, n / 3);
	add(c, 2 * n + 1);
	q = checked(realloc(p, n), 8);
	sub(c, 2 * n + 1);
	add(c, n);
	return q;
}

static held allocate(counts *c, int way, size_t n)
{
	held h = { nullptr, n, way };
	char text[64];

	if (way == REALLOC || way == MEMALIGN || way == ALIGNED || way == VALLOC)
		h.bytes = ++n; /* of 0 bytes allocators make what they like */
	if (way == REALLOC) {
		h.block = by_realloc(c, n);
		return h;
	}
	switch (way) {
	case MALLOC: h.block = checked(malloc(n), 8); break;
	case CALLOC:
		h.block = checked(calloc(n, 3), 8);
		h.bytes = 3 * n;
		break;
	case MEMALIGN: h.block = checked(memalign(64, n), 64); break;
	case POSIX:
		EXPECT(!posix_memalign(&h.block, 4096, n));
		checked(h.block, 4096);
		break;
	case ALIGNED:
		h.bytes = (n + 31) & ~(size_t)31;
		h.block = checked(aligned_alloc(32, h.bytes), 32);
		break;
	case VALLOC: h.block = checked(valloc(n), 4096); break;
	case ARRAY:
		h.block = checked(reallocarray(nullptr, n, 2), 8);
		h.bytes = 2 * n;
		break;
	case DUPLICATE:
		h.bytes = n % sizeof(text) + 1;
		memset(text, 'x', sizeof(text));
		text[h.bytes - 1] = 0;
		h.block = checked(strdup(text), 1);
		break;
	case NEW:
	case NEW_SIZED: h.block = checked(operator new(n), 8); break;
	case NEW_ARRAY: h.block = checked(operator new[](n), 8); break;
	case NEW_NOTHROW: h.block = checked(operator new(n, std::nothrow), 8); break;
	case NEW_ALIGNED: h.block = checked(operator new(n, std::align_val_t(128)), 128); break;
	case NEW_ARRAY_ALIGNED:
		h.block = checked(operator new[](n, std::align_val_t(32)), 32);
		break;
	}
	add(c, h.bytes);
	return h;
}

static void release(counts *c, const held &h)
{
	if (!h.block)
		return;
	sub(c, h.bytes);
	switch (h.way) {
	case NEW:
	case NEW_NOTHROW: operator delete(h.block); break;
	case NEW_SIZED: operator delete(h.block, h.bytes); break;
	case NEW_ARRAY: operator delete[](h.block); break;
	case NEW_ALIGNED: operator delete(h.block, std::align_val_t(128)); break;
	case NEW_ARRAY_ALIGNED: operator delete[](h.block, std::align_val_t(32)); break;
	default: free(h.block);
	}
}

static size_t some_size(unsigned r)
{
	return r % 64 == 0  ? 100000 + r % 5000
	       : r % 8 == 0 ? 900 + r % 4000
	       : r % 4 == 0 ? r % 9
			    : r % 500;
}

extern "C" __attribute__((noinline)) void *work(void *arg)
{
	counts *c = static_cast<counts *>(arg);
	unsigned r = (unsigned)c->blocks;
	volatile size_t huge = SIZE_MAX / 4;

	c->blocks = 0;
	for (int i = 0; i < ROUNDS; i++) {
		r = r * 1103515245 + 12345;
		int way = i % WAYS == DUPLICATE && nodup ? MALLOC : i % WAYS;
		held h = allocate(c, way, some_size(r >> 8));
		memset(h.block, 1, h.bytes);
		EXPECT(malloc_usable_size(h.block) >= h.bytes);
		pthread_mutex_lock(&lock);
		held old = shelf[r >> 23];
		shelf[r >> 23] = h;
		pthread_mutex_unlock(&lock);
		release(c, old);
		free(nullptr);
	}
	EXPECT(!malloc(huge) && !calloc(huge, 16) && !reallocarray(nullptr, huge, 16));
	return nullptr;
}

int main(int argc, char **argv)
{
	static counts all[THREADS];
	counts sum = {};
	pthread_t t[THREADS];
	char byte;

	if (argc < 2)
		return puts("use: what is alive at the end hangs on which thread was first") < 0;
	nodup = argc > 2;
	for (size_t i = 0; i < THREADS; i++) {
		all[i].blocks = 7 * i + 1; /* a seed */
		EXPECT(!pthread_create(&t[i], nullptr, work, &all[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], nullptr);
		sum.blocks += all[i].blocks;
		sum.bytes += all[i].bytes;
		sum.freed_blocks += all[i].freed_blocks;
		sum.freed_bytes += all[i].freed_bytes;
	}
	printf("%zu %zu %zu %zu\n", sum.blocks, sum.bytes, sum.blocks - sum.freed_blocks,
	       sum.bytes - sum.freed_bytes);
	fflush(stdout);
	while (!strcmp(argv[1], "wait") && read(0, &byte, 1) > 0)
		;
	return 0;
}
