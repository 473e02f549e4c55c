/* SPDX-License-Identifier: MIT
 *
 * steps.c - a stack at each instruction: of a call that the loader binds (its trampoline, its
 * realigned stack, its way out), of calls between instrumented functions (their hooks), of frames
 * of odd shapes.
 *
 * The processor's trap flag interrupts the program after each instruction. The truth is kept
 * beside: an instruction that left the address after itself on the stack was a call, and it has
 * returned when the stack pointer is past that word. So no unwind table and no library judges.
 * `steps [ENGINE]`: as built, cfi or instrument.
 */
#include "fakes.h"
#include "lists.h"
#include "base/conf.h"
#include "base/types.h"
#include "modules/maps.h"
#include "unwind/unwind.h"

#include <alloca.h>
#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <wchar.h>

#define PLAIN __attribute__((no_instrument_function, noinline))
#define NOINLINE __attribute__((noinline, noclone))
#define CALLS 200
#define PRINTED 10
#define TRAP 0x100 /* EFLAGS.TF */

static struct thread state;
static long steps, differences, loader_steps;
static uintptr_t restorer;

/* What is known to be on the stack. */
static struct {
	struct list outer; /* of the function that began */
	struct {
		uintptr_t slot, is;
	} call[CALLS];
	int calls;
	uintptr_t pc, sp; /* before this instruction; sp 0: it is the first */
	volatile bool stop;
	uintptr_t aside, aside_end; /* a coroutine's stack; 0 = all is on one */
	/* the coroutine has ended: from here on libc's code leads to where it began */
	volatile bool left;
} truth;

/* The instruction at truth.pc led to pc, sp. */
PLAIN static void follow(uintptr_t pc, uintptr_t sp)
{
	uintptr_t top = *(const uintptr_t *)sp;
	bool first = !truth.sp;

	while (truth.calls && truth.call[truth.calls - 1].slot < sp)
		truth.calls--;
	if (!first && sp == truth.sp - sizeof(top) && top - truth.pc - 2 < 6 &&
	    truth.calls < CALLS) {
		truth.call[truth.calls].slot = sp;
		truth.call[truth.calls++].is = top;
	}
	truth.pc = pc;
	truth.sp = sp;
}

PLAIN static void told(struct list *l)
{
	l->n = 0;
	l->pc[l->n++] = truth.pc;
	for (int i = truth.calls; i > 0; i--)
		l->pc[l->n++] = truth.call[i - 1].is;
	for (int i = 0; i < truth.outer.n; i++)
		l->pc[l->n++] = truth.outer.pc[i];
}

/* From the interrupted instruction on. */
PLAIN static void cut(struct list *l)
{
	int i = 0;

	while (i < l->n && l->pc[i] != restorer)
		i++;
	i = i < l->n ? i + 1 : 0;
	l->n -= i;
	memmove(l->pc, l->pc + i, (size_t)l->n * sizeof(*l->pc));
}

PLAIN static void expect(const char *what, unsigned reason, struct list *mine)
{
	static struct list is;

	told(&is);
	cut(mine);
	if ((!reason && list_equal(&is, mine, false)) || differences++ >= PRINTED)
		return;
	printf("difference: %s (truncation %u), sp %lx\n", what, reason, truth.sp);
	memset(is.exact, 0, sizeof(is.exact));
	memset(mine->exact, 0, sizeof(mine->exact));
	list_print(stdout, "it is", &is);
	list_print(stdout, "memtop", mine);
	fflush(stdout);
}

/* What is known where stacks are switched: no caller of the coroutine's creator has called it. It
 * has a beginning without a caller. */
PLAIN static void expect_apart(const struct list *plain, unsigned reason, struct list *mine)
{
	bool apart = truth.sp >= truth.aside && truth.sp <= truth.aside_end && !truth.left,
	     wrong = false;

	cut(mine);
	for (int i = 0; apart && i < mine->n; i++)
		for (int j = 0; j < truth.outer.n; j++)
			wrong |= mine->pc[i] == truth.outer.pc[j];
	if ((!wrong && (!reason || (apart && reason == MTW_TRUNC_NO_CFI)) &&
	     list_equal(plain, mine, false)) ||
	    differences++ >= PRINTED)
		return;
	printf("difference: %s (truncation %u)\n",
	       apart ? "on a coroutine's stack" : "outside of a coroutine", reason);
	list_print(stdout, "capture", mine);
	list_print(stdout, "plain", plain);
	fflush(stdout);
}

PLAIN __attribute__((optimize("no-omit-frame-pointer"))) static void take(void)
{
	static struct list mine;
	static void *pcs[DEEPEST];
	uintptr_t *frame = __builtin_frame_address(0);
	struct regs r = { (uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
			  frame[0] };
	static struct list plain;
	unsigned reason = list_path(mt_unwind_capture(&state, &r), &mine);

	plain.n = mt_unwind_frames(&state, &r, pcs, DEEPEST);
	memcpy(plain.pc, pcs, sizeof(pcs));
	memset(mine.exact, 0, sizeof(mine.exact));
	if (truth.aside) {
		cut(&plain);
		expect_apart(&plain, reason, &mine);
	} else {
		expect("capture", reason, &mine);
		expect("plain walk", 0, &plain);
	}
	__asm__ volatile("" ::: "memory");
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig, (void)info;
	restorer = (uintptr_t)__builtin_return_address(0);
	if (truth.stop) {
		g[REG_EFL] &= ~TRAP;
		return;
	}
	follow((uintptr_t)g[REG_RIP], (uintptr_t)g[REG_RSP]);
	steps++;
	loader_steps += truth.pc - mt_maps_loader_start < mt_maps_loader_bytes;
	take();
	__asm__ volatile("" ::: "memory");
}

/* Those of the caller's caller, which `site` is in, and all further out: before any odd thing is
 * under way. */
PLAIN static void find_outer(uintptr_t site)
{
	void *pcs[DEEPEST];
	int n = unw_backtrace(pcs, DEEPEST), i = 0;

	while (i < n && (uintptr_t)pcs[i] != site)
		i++;
	truth.outer.n = n - i;
	memcpy(truth.outer.pc, pcs + i, (size_t)(n - i) * sizeof(*pcs));
}

/* In a function: each instruction from here on is followed, till ENOUGH. */
#define FOLLOW                                                                                     \
	do {                                                                                       \
		find_outer((uintptr_t)__builtin_return_address(0));                                \
		truth.calls = 0;                                                                   \
		truth.sp = 0;                                                                      \
		truth.stop = false;                                                                \
		__asm__ volatile("pushfq; orq %0, (%%rsp); popfq; nop"                             \
				 :                                                                 \
				 : "i"(TRAP)                                                       \
				 : "memory", "cc");                                                \
	} while (0)
#define ENOUGH (truth.stop = true)

static volatile int value = 'x';
static volatile char text[] = "some text";

/* Every function of libc that is called here is called once, for the first time. */
PLAIN static int plain(void)
{
	FOLLOW;
	int v = toupper(value) + (int)labs(value);
	ENOUGH;
	return v + 1;
}

NOINLINE static int usual(void)
{
	FOLLOW;
	int v = tolower(value) + (int)wcslen(L"abc");
	ENOUGH;
	return v + 1;
}

PLAIN static int with_rbp(void)
{
	FOLLOW;
#ifdef __OPTIMIZE__ /* no frame pointer */
	__asm__ volatile("xor %%ebp, %%ebp" : : : "rbp");
#endif
	int v = ffsll(value) + isalpha(value);
#ifdef __OPTIMIZE__
	__asm__ volatile("mov $3, %%rbp" : : : "rbp", "rbx");
#endif
	v += isdigit(value);
	ENOUGH;
	return v;
}

PLAIN static int aligned(int n)
{
	__attribute__((aligned(128))) volatile char room[256];
	volatile char *more = alloca((size_t)n * 16);

	FOLLOW;
	room[0] = more[0] = (char)isupper(n);
	int v = strpbrk((const char *)text, "t") != NULL;
	ENOUGH;
	return v + room[0] + more[0];
}

/* Between functions that are instrumented where the others are: their prologues, hooks and ways
 * out. */
NOINLINE static int inner(int n)
{
	__asm__ volatile("" : : : "rbx", "r12", "memory");
	return n > 0 ? inner(n - 1) + ispunct(n) : isspace(n);
}

PLAIN static int between(int n)
{
	return inner(n) + 1;
}

NOINLINE static int chain(void)
{
	FOLLOW;
	int v = between(3) + inner(1);
	ENOUGH;
	return v + 1;
}

PLAIN static int compare(const void *a, const void *b)
{
	return inner(1) + *(const int *)a - *(const int *)b;
}

NOINLINE static int callback(void)
{
	int all[4] = { 4, 2, 3, 1 };

	FOLLOW;
	qsort(all, 4, sizeof(*all), compare);
	ENOUGH;
	return all[0] + 1;
}

static ucontext_t outside, coroutine;

NOINLINE static void body(void)
{
	value += inner(1);
	truth.left = true;
}

/* Into a coroutine, through it, and out: the code that switches stacks is on either. */
NOINLINE static int switches(void)
{
	size_t bytes = 256u << 10;
	char *stack = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(stack + 4096, bytes, PROT_READ | PROT_WRITE);
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack + 4096;
	coroutine.uc_stack.ss_size = bytes;
	coroutine.uc_link = &outside;
	makecontext(&coroutine, body, 0);
	truth.aside = (uintptr_t)stack + 4096;
	truth.aside_end = truth.aside + bytes;
	truth.left = false;
	FOLLOW;
	swapcontext(&outside, &coroutine);
	ENOUGH;
	truth.aside = 0;
	munmap(stack, bytes + 8192);
	return 1;
}

NOINLINE static int deeper(int depth, int (*f)(void))
{
	int v = depth ? deeper(depth - 1, f) : f();

	__asm__ volatile("" : "+r"(v));
	return v;
}

static int aligned_here(void)
{
	return aligned(value % 7) + 1;
}

int main(int argc, char **argv)
{
	static int (*const all[])(void) = { plain, usual,    with_rbp, aligned_here,
					    chain, callback, switches };
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	mt_maps_init();
	if (!mt_unwind_init(argc > 1 ? argv[1] : "cfi", true) ||
	    (argc > 1 && strcmp(argv[1], mt_conf.unwind)))
		return 2;
	sigaction(SIGTRAP, &action, NULL);
	truth.stop = true;
	raise(SIGTRAP); /* what a handler's return looks like */
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (int depth = 0; depth < 3; depth++)
			deeper(depth, all[i]);
	bool good = !differences && steps > 3000 && loader_steps > 1000;
	printf("%s %s: %ld steps, %ld in the loader, %ld differences\n", good ? "PASS" : "FAIL",
	       mt_conf.unwind, steps, loader_steps, differences);
	return !good;
}
