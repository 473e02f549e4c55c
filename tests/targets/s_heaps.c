/* SPDX-License-Identifier: MIT
 *
 * s_heaps.c - allocators of the program's own that report their blocks: memtop/memtop.h, "named
 * heaps". Usage: s_heaps all|WHAT..., in this order; all = all but the last three. Alive of each
 * heap in the end, blocks and bytes:
 *
 *   arena    cuts from one malloc that it declares; reset once           "arena"      10   1,000
 *   stack    the same memory by marks: the upper half is given back      "stack"       5     500
 *   slab     24 bytes each at odd addresses, every second one freed      "slab"       50   1,200
 *   handles  numbers, no memory                                          "handles"     3 3 << 32
 *   realloc  grows ten times, in place and not; a failure                "realloc"     1     110
 *   nested   a heap that cuts from another heap                          "outer"        0       0
 *                                                                        "inner"        4      64
 *   wrong    free of unknown, twice the same address                     "wrong"       1      20
 *   threads  eight, each 1,000 blocks, half of them freed by others, 100 "threads"   100   3,200
 *   forks    a child frees them all, in its own memory                   "forks"      20     200
 *   marks    5, a mark "between", 2 of them freed, 3 more                "marks"       6      48
 *   many     20,000 of 64 bytes, the lower half reset                    "many"   10,000 640,000
 *   huge     2^48 bytes, which are lost; 2^48 - 1, and freed             "huge"         0       0
 *   signals  a handler that reports interrupts who reports               "signals"    10     320
 *   wait     one block; for each byte on stdin its free, 7 of 70 bytes   "late"        7     490
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memtop/memtop.h>

#define THREADS 8
#define EACH 1000

static char *pool_take(void)
{
	char *pool = malloc(100000);

	EXPECT(pool);
	return pool;
}

static __attribute__((noinline)) void cut(struct memtop_heap *heap, char *from, size_t distance,
					  size_t size, int count)
{
	for (int i = 0; i < count; i++)
		memtop_report_alloc(heap, from + (size_t)i * distance, size);
	__asm__ volatile("");
}

static void arena(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("arena");
	static char *pool;

	pool = pool_take();
	memtop_report_backing(&heap, pool);
	cut(&heap, pool, 100, 100, 1000);
	memtop_report_reset(&heap, pool, 100000);
	cut(&heap, pool, 100, 100, 10);
}

static void stack(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("stack");
	char *pool = pool_take();

	memtop_report_backing(&heap, pool);
	cut(&heap, pool, 1000, 100, 10);
	memtop_report_reset(&heap, pool + 5000, 95000);
	free(pool_take()); /* somebody else's */
	pool = realloc(pool, 200000);
	memtop_report_backing(&heap, pool);
	free(pool);
}

static void slab(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("slab");
	static char memory[100 * 24 + 1];

	cut(&heap, memory + 1, 24, 24, 100);
	for (size_t i = 0; i < 100; i += 2)
		memtop_report_free(&heap, memory + 1 + i * 24);
}

static void handles(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("handles");

	for (uintptr_t i = 1; i <= 6; i++)
		memtop_report_alloc(&heap, (void *)i,
				    sizeof(void *) == 8 ? (size_t)1 << 16 << 16 : 1 << 16);
	for (uintptr_t i = 1; i <= 6; i += 2)
		memtop_report_free(&heap, (void *)i);
}

static void reallocs(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("realloc");
	static char memory[2000];
	char *at = NULL;

	for (size_t i = 0; i <= 10; i++) {
		char *to = memory + i / 2 * 100; /* each second one in place */
		memtop_report_realloc(&heap, at, to, 10 * (i + 1));
		at = to;
	}
	memtop_report_alloc(&heap, NULL, 77);
}

static void nested(void)
{
	static struct memtop_heap outer = MEMTOP_HEAP("outer"), inner = MEMTOP_HEAP("inner");
	char *pool = pool_take();

	memtop_report_backing(&outer, pool);
	memtop_report_alloc(&outer, pool, 4096);
	memtop_report_backing(&inner, pool);
	cut(&inner, pool, 16, 16, 5);
	memtop_report_free(&inner, pool);
	memtop_report_alloc(&outer, pool + 8192, 4096);
	memtop_report_free(&outer, pool + 8192);
}

static void wrong(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("wrong");
	static char memory[64];

	memtop_report_free(&heap, memory + 5);
	memtop_report_alloc(&heap, memory, 10);
	memtop_report_alloc(&heap, memory, 20);
}

static struct memtop_heap shared = MEMTOP_HEAP("threads");
static char lanes[THREADS][EACH * 32];
static pthread_barrier_t all;

static void *work(void *arg)
{
	size_t mine = (size_t)(uintptr_t)arg;

	cut(&shared, lanes[mine], 32, 32, EACH);
	pthread_barrier_wait(&all);
	for (size_t i = 0; i < EACH; i += 2) {
		memtop_report_free(&shared, lanes[(mine + 1) % THREADS] + i * 32);
		memtop_report_free(&shared, lanes[mine] + (i + 1) * 32);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&all, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&t[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	cut(&shared, lanes[0], 32, 32, 100);
}

static void forks(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("forks");
	static char memory[200];
	int status = 1;

	cut(&heap, memory, 10, 10, 20);
	pid_t child = fork();
	if (!child) {
		memtop_report_reset(&heap, memory, sizeof(memory));
		cut(&heap, memory, 1, 1000, 100);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && !status);
}

static void marks(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("marks");
	static char memory[64];

	cut(&heap, memory, 8, 8, 5);
	memtop_set_mark("between");
	memtop_report_reset(&heap, memory, 16);
	cut(&heap, memory + 40, 8, 8, 3);
}

static void huge(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("huge");

	memtop_report_alloc(&heap, (void *)16, (size_t)(UINT64_C(1) << 48));
	memtop_report_alloc(&heap, (void *)32, (size_t)(UINT64_C(1) << 48) - 1);
	memtop_report_free(&heap, (void *)32);
}

static void many(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("many");
	static char memory[20000 * 64];

	cut(&heap, memory, 64, 64, 20000);
	memtop_report_reset(&heap, memory, sizeof(memory) / 2);
}

static struct memtop_heap disturbed = MEMTOP_HEAP("signals");
static volatile sig_atomic_t handled;

static void handle(int sig)
{
	static char memory[64];

	(void)sig;
	memtop_report_alloc(&disturbed, memory + 16, 7);
	memtop_report_realloc(&disturbed, memory + 16, memory + 17, 8);
	memtop_report_free(&disturbed, memory + 17);
	handled++;
}

static void signals(void)
{
	static char memory[4096];
	struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, handle);
	EXPECT(!setitimer(ITIMER_REAL, &often, NULL));
	while (handled < 2000) {
		cut(&disturbed, memory, 32, 32, 100);
		memtop_report_reset(&disturbed, memory, sizeof(memory));
	}
	EXPECT(!setitimer(ITIMER_REAL, &never, NULL));
	cut(&disturbed, memory, 32, 32, 10);
}

static void late(void)
{
	static struct memtop_heap heap = MEMTOP_HEAP("late");
	static char memory[100];
	char byte;

	memtop_report_alloc(&heap, memory + 99, 1);
	EXPECT(write(1, "ready\n", 6) == 6);
	while (read(0, &byte, 1) == 1) {
		memtop_report_free(&heap, memory + 99);
		cut(&heap, memory, 3, 70, 7);
		EXPECT(write(1, "done\n", 5) == 5);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = { { "arena", arena },     { "stack", stack },      { "slab", slab },
		      { "handles", handles }, { "realloc", reallocs }, { "nested", nested },
		      { "wrong", wrong },     { "threads", threads },  { "forks", forks },
		      { "marks", marks },     { "many", many },        { "huge", huge },
		      { "signals", signals }, { "wait", late } };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		bool wanted = false;
		for (int a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], parts[i].name) ||
				  (parts[i].run != late && parts[i].run != signals &&
				   parts[i].run != huge && !strcmp(argv[a], "all"));
		if (wanted)
			parts[i].run();
	}
	return 0;
}
