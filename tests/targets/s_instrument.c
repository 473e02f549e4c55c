/* SPDX-License-Identifier: MIT
 *
 * s_instrument.c - built with -finstrument-functions: allocations under everything that
 * breaks a list of entered functions. Each case is the same in every run, under every
 * engine.
 *
 *     s_instrument            all cases
 *     s_instrument deep N     allocates N calls deep, and again when it has returned
 *     s_instrument jump N     N longjmps from below into main, each from N % 50 calls deep
 *     s_instrument own        prints memtop_backtrace() as module offsets, innermost first
 */
#include "target.h"

#include <memtop/memtop.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))
#define PLAIN __attribute__((no_instrument_function)) NOINLINE
#define AFTER __asm__ volatile("" ::: "memory") /* no tail calls */
#define STACK (256u << 10)

static jmp_buf back;
static unsigned long below;

NOINLINE static void leaf(size_t bytes)
{
	void *volatile p = malloc(bytes);

	free(p);
}

static inline __attribute__((always_inline)) void inlined(size_t bytes)
{
	char *room = __builtin_alloca(bytes);

	memset(room, 1, bytes);
	__asm__ volatile("" : : "r"(room) : "memory");
	leaf(bytes);
	free(malloc(bytes + 1));
}

/* Reaches malloc through a library function, and from an inlined function with room of its own. */
NOINLINE static void branch(size_t bytes)
{
	free(strdup("text"));
	inlined(bytes);
	AFTER;
}

NOINLINE static void recurse(int depth)
{
	if (depth > 0)
		recurse(depth - 1);
	leaf((size_t)depth + 16);
	AFTER;
}

PLAIN static void unseen(int depth)
{
	if (depth > 0)
		unseen(depth - 1);
	free(malloc(40));
	leaf(41);
	AFTER;
}

NOINLINE static void mixed(void)
{
	unseen(2);
	recurse(1);
	AFTER;
}

NOINLINE static int by_value(const void *a, const void *b)
{
	leaf(50);
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void sort(void)
{
	int v[] = { 3, 1, 2 };

	qsort(v, 3, sizeof(v[0]), by_value);
}

NOINLINE static void fall(int depth, size_t room)
{
	char *taken = __builtin_alloca(room);

	__asm__ volatile("" : : "r"(taken) : "memory");
	leaf(60);
	if (depth == 0)
		longjmp(back, 1);
	fall(depth - 1, room);
	AFTER;
}

NOINLINE static void jump(int depth, size_t room)
{
	if (setjmp(back) == 0)
		fall(depth, room);
	leaf(61);
	unseen(0); /* its frames lie where those were that were left */
	branch(64);
	AFTER;
}

NOINLINE static void climb(int depth, size_t room);

NOINLINE static void hop(int depth, size_t room)
{
	if (depth < 0)
		leaf(62);
	else
		climb(depth, room);
	AFTER;
}

/*
 * Calls itself by way of one place in hop(), leaves the inner ones by longjmp, and spreads over
 * where they were: a frame with their return address, and their stack pointers inside.
 */
static void climb(int depth, size_t room)
{
	if (depth == 0)
		longjmp(back, 1);
	if (depth < 3 || setjmp(back) == 0)
		hop(depth - 1, room);
	char *taken = __builtin_alloca(room);
	__asm__ volatile("" : : "r"(taken) : "memory");
	memset(taken, 0, room);
	hop(-1, room);
	AFTER;
}

static void handler(int sig)
{
	leaf((size_t)sig + 70);
}

/* On its own stack, in the middle of the heap, and on one above it. */
NOINLINE static void signals(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t alternate = { .ss_size = STACK };
	char on_main[64 << 10];

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	alternate.ss_sp =
		mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&alternate, NULL);
	raise(SIGUSR1);
	leaf(71);
	alternate = (stack_t){ .ss_sp = on_main, .ss_size = sizeof(on_main) };
	sigaltstack(&alternate, NULL); /* further out than what it interrupts */
	recurse(1);
	raise(SIGUSR1);
	leaf(72);
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
}

static ucontext_t home, away[2];

NOINLINE static void turn(int i)
{
	leaf(80);
	swapcontext(&away[i], &home);
	leaf(81);
}

static void routine(int i)
{
	turn(i);
	recurse(1);
	turn(i);
}

/* Two coroutines that take turns with main. */
NOINLINE static void coroutines(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&away[i]);
		away[i].uc_stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		away[i].uc_stack.ss_size = STACK;
		away[i].uc_link = &home;
		makecontext(&away[i], (void (*)(void))routine, 1, i);
	}
	for (int i = 0; i < 6; i++) {
		swapcontext(&home, &away[i % 2]);
		branch(82);
	}
}

static void *thread(void *arg)
{
	recurse(3);
	return arg;
}

/* One after the other, so that a state is handed on. */
NOINLINE static void threads(void)
{
	for (int i = 0; i < 4; i++) {
		pthread_t id;
		EXPECT(!pthread_create(&id, NULL, thread, NULL));
		pthread_join(id, NULL);
	}
}

NOINLINE static void dig(unsigned long depth)
{
	if (depth == 0)
		leaf(90);
	else
		dig(depth - 1);
	below++;
}

static int compare_own(void)
{
	extern char __executable_start;
	void *frames[64];
	int n = memtop_backtrace ? memtop_backtrace(frames, 64) : 0;

	for (int i = 0; i < n; i++)
		printf("%lx\n", (unsigned long)((char *)frames[i] - &__executable_start));
	leaf(95);
	return n;
}

NOINLINE static int own(int depth)
{
	int n = depth ? own(depth - 1) : compare_own();

	AFTER;
	return n;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "own"))
		return own(3) < 5;
	if (argc > 2 && !strcmp(argv[1], "deep")) {
		unsigned long depth = strtoul(argv[2], NULL, 10);
		dig(depth);
		recurse(2);
		dig(10);
		EXPECT(below == depth + 12);
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "jump")) {
		for (int i = 0, n = atoi(argv[2]); i < n; i++) {
			jump(i % 50, 16u << i % 8);
			hop(3, 64u << i % 6);
		}
		recurse(2);
		return 0;
	}
	recurse(4);
	branch(48);
	mixed();
	sort();
	for (int i = 0; i < 20; i++)
		jump(i % 5, 16u << i % 8);
	hop(3, 1000);
	signals();
	coroutines();
	threads();
	recurse(2);
	return 0;
}
