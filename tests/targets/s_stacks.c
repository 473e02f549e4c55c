/* SPDX-License-Identifier: MIT
 *
 * s_stacks.c - prints, before each allocation, which of its own functions are on the stack.
 * Usage: s_stacks. A line per block: its unique size, then functions, innermost first. The
 * program lists only functions that it tracks itself, without frames between them (qsort, a
 * signal's frame).
 */
#include "target.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <ucontext.h>
#endif

#define FN static __attribute__((noinline)) void

static __thread const char *volatile told[64];
static __thread volatile int depth;
static int sizes;

#define IN (told[depth] = __func__, depth++)
#define OUT (depth--)
#define TAKE keep(malloc(say()))

static size_t say(void)
{
	char line[2048];
	size_t size = 1000 + 16 * (size_t)__atomic_fetch_add(&sizes, 1, __ATOMIC_RELAXED);
	int n = snprintf(line, sizeof(line), "%zu", size);

	for (int i = depth - 1; i >= 0; i--)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %s", told[i]);
	line[n++] = '\n';
	EXPECT(write(1, line, (size_t)n) == n);
	return size;
}

FN plain(void)
{
	IN;
	TAKE;
	OUT;
}

FN recursive(int n)
{
	IN;
	if (n & 1)
		TAKE;
	if (n)
		recursive(n - 1);
	plain();
	OUT;
}

FN variable_frame(size_t n)
{
	IN;
	volatile char *p = __builtin_alloca(n);
	p[0] = p[n - 1] = 1;
	plain();
	TAKE;
	OUT;
}

FN large_frame(void)
{
	volatile char frame[70000];

	IN;
	frame[0] = frame[sizeof(frame) - 1] = 1;
	plain();
	OUT;
}

FN aligned_frame(void)
{
	_Alignas(256) volatile char frame[300];

	IN;
	frame[(uintptr_t)frame & 255] = 1;
	plain();
	OUT;
}

FN many_registers(double x, double y, long a, long b, long c, long d, long e, long f, long g,
		  long h)
{
	IN;
	plain();
	EXPECT(x + y + (double)(a + b + c + d + e + f + g + h) > 0);
	OUT;
}

static int compare(const void *a, const void *b)
{
	IN;
	static int once;
	if (!once++)
		TAKE;
	OUT;
	return *(const int *)a - *(const int *)b;
}

FN by_qsort(void)
{
	int v[] = { 3, 1, 2 };

	IN;
	qsort(v, 3, sizeof(v[0]), compare);
	OUT;
}

static void *thread_main(void *arg)
{
	IN;
	recursive(3);
	large_frame();
	OUT;
	return arg;
}

FN by_thread(void)
{
	pthread_t t;

	EXPECT(!pthread_create(&t, NULL, thread_main, NULL) && !pthread_join(t, NULL));
}

static sigjmp_buf back;

static void on_signal(int sig)
{
	IN;
	TAKE;
	plain();
	OUT;
	if (sig == SIGSEGV)
		siglongjmp(back, 1);
}

FN by_raise(void)
{
	IN;
	raise(SIGUSR1);
	OUT;
}

/* Calls nobody: its caller's return address may be in a register only. */
FN leaf_fault(volatile int *where)
{
	IN;
	*where = 1;
	OUT;
}

/* Has called somebody, and moved its stack pointer since. */
FN late_fault(volatile int *where, size_t n)
{
	IN;
	plain();
	volatile char *p = __builtin_alloca(n);
	p[0] = 1;
	*where = 1;
	plain();
	OUT;
}

FN by_fault(int which)
{
	volatile int at;

	IN;
	at = depth;
	if (!sigsetjmp(back, 1)) {
		if (which)
			late_fault(NULL, 1000);
		else
			leaf_fault(NULL);
	}
	depth = at;
	plain();
	OUT;
}

FN by_other_stack(void)
{
	static char other[65536];
	stack_t s = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	IN;
	EXPECT(!sigaltstack(&s, NULL) && !sigaction(SIGUSR2, &sa, NULL));
	raise(SIGUSR2);
	OUT;
}

#if defined(__GLIBC__)
static ucontext_t outside, inside;

static void coroutine(void)
{
	int kept = depth;
	const char *others[64];

	for (int i = 0; i < kept; i++)
		others[i] = told[i];
	depth = 0;
	IN;
	recursive(1);
	OUT;
	while (depth < kept)
		told[depth] = others[depth], depth++;
}

FN by_coroutine(void)
{
	static char stack[65536];

	IN;
	EXPECT(!getcontext(&inside));
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	EXPECT(!swapcontext(&outside, &inside));
	plain();
	OUT;
}
#else
FN by_coroutine(void) {}
#endif

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	IN;
	EXPECT(!sigaction(SIGUSR1, &sa, NULL) && !sigaction(SIGSEGV, &sa, NULL));
	TAKE;
	plain();
	recursive(12);
	variable_frame(5000);
	large_frame();
	aligned_frame();
	many_registers(1, 2, 1, 2, 3, 4, 5, 6, 7, 8);
	by_qsort();
	by_thread();
	by_raise();
	by_fault(0);
	by_fault(1);
	by_other_stack();
	by_coroutine();
	plain();
	OUT;
	return 0;
}
