/* SPDX-License-Identifier: MIT
 *
 * unwind.c - ns of one capture of the whole stack, nothing else: no block, no counter.
 * Usage: [MEMTOP_OPTIONS=unwind=ENGINE] unwind WHAT DEPTH FRESH THREADS CAPTURES
 *
 * WHAT:  none           the calls around a capture alone, to be subtracted
 *        agent          mt_unwind_capture() of the agent in this program, with the engine that its
 *                       option names; exits with 4 when the agent does not know it
 *        recent         the cfi engine as record.c drives it: recent stacks are asked first
 *        unw_step       libunwind, frame by frame
 *        unw_backtrace  libunwind, cached
 *
 * The stack has DEPTH frames, counted to the function that asks for it, and FRESH of them, next to
 * the innermost, are re-entered for each capture, each through a random one of eight functions. It
 * prints the ns of one cpu per capture over all threads, as the slope between a quarter of CAPTURES
 * and all of them (per thread), and the number of frames found.
 */
#include "base/state.h"
#include "base/types.h"
#include "record/thread.h"
#include "unwind/fast.h"
#include "unwind/unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noipa))
#define FIXED 6 /* clone and start_thread, work, the last deeper, loop, ask */
#define MAX_THREADS 64
#define MAX_FRAMES 256
#define NO_ENGINE 4

typedef void capture(struct thread *t, const struct regs *r);

static capture *chosen;
static int depth, fresh;
static pthread_barrier_t all_there;
static __thread unsigned state = 1;
static __thread long sink;

static void capture_none(struct thread *t, const struct regs *r)
{
	(void)t;
	sink += (long)r->pc;
}

static void capture_agent(struct thread *t, const struct regs *r)
{
	sink += mt_unwind_capture(t, r);
}

/* What an allocation does to find its stack (record/record_stack.c). */
static void capture_recent(struct thread *t, const struct regs *r)
{
	struct hit *h = NULL;

	if (unwind_hits(t->last, r->pc, r->sp, r->fp, mt_era_now()))
		h = t->last;
	else if (t->hits)
		h = unwind_recent(t, r->pc, r->sp, r->fp);
	if (!h) {
		sink += mt_unwind_capture(t, r);
		if (!t->hits || !unwind_is_plain(t->unwind, r))
			return;
		h = unwind_hit_place(t, r->pc, r->sp);
		h->sp = 0;
		h->epoch = atomic_load_explicit(&mt_epoch, memory_order_relaxed);
		unwind_remember(t->unwind, h);
	}
	t->last = h;
}

static int step_all(void **pcs)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;
	int n = 0;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		pcs[n++] = (void *)pc;
	} while (n < MAX_FRAMES && unw_step(&cursor) > 0);
	return n;
}

static void capture_unw_step(struct thread *t, const struct regs *r)
{
	void *pcs[MAX_FRAMES];

	(void)t;
	(void)r;
	sink += step_all(pcs);
}

static void capture_unw_backtrace(struct thread *t, const struct regs *r)
{
	void *pcs[MAX_FRAMES];

	(void)t;
	(void)r;
	sink += unw_backtrace(pcs, MAX_FRAMES);
}

static const struct {
	const char *name;
	capture *run;
} captures[] = {
	{ "none", capture_none },
	{ "agent", capture_agent },
	{ "recent", capture_recent },
	{ "unw_step", capture_unw_step },
	{ "unw_backtrace", capture_unw_backtrace },
};

/* Stands where malloc's hook would: its caller's registers. Needs a frame pointer. */
KEEP __attribute__((optimize("no-omit-frame-pointer"), no_instrument_function)) static void hook(
	struct thread *t)
{
	struct regs r = { (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),
			  *(const uintptr_t *)__builtin_frame_address(0) };

	chosen(t, &r);
	__asm__ volatile("" ::: "memory");
}

KEEP static void ask(struct thread *t)
{
	hook(t);
	__asm__ volatile("" ::: "memory");
}

typedef void way(struct thread *t, int left);
static way *const ways[8];

static inline __attribute__((no_instrument_function)) void enter(struct thread *t, int left)
{
	state = state * 1664525u + 1013904223u;
	if (left > 0)
		ways[state >> 24 & 7](t, left - 1);
	else
		ask(t);
	__asm__ volatile("" ::: "memory"); /* not a tail call */
}

#define WAY(n)                                                                                     \
	KEEP static void way##n(struct thread *t, int left)                                        \
	{                                                                                          \
		enter(t, left);                                                                    \
	}
/* clang-format off */
WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7)

static way *const ways[8] = { way0, way1, way2, way3, way4, way5, way6, way7 };
/* clang-format on */

KEEP static void loop(struct thread *t, long count)
{
	while (count-- > 0)
		enter(t, fresh);
}

KEEP static void deeper(struct thread *t, int frames, long count)
{
	if (frames > 0)
		deeper(t, frames - 1, count);
	else
		loop(t, count);
	__asm__ volatile("" ::: "memory");
}

KEEP static void *work(void *arg)
{
	free(malloc(100)); /* its state is made, and its table of recent stacks */
	struct thread *t = mt_thread_self();

	deeper(t, depth - fresh - FIXED, 100);
	pthread_barrier_wait(&all_there);
	deeper(t, depth - fresh - FIXED, *(long *)arg);
	__asm__ volatile("" ::: "memory");
	return NULL;
}

#include "in_threads.h"

/* How many frames the stack has by this way of taking it; those of the program, not of the
 * capture. */
static int frames_found;
static bool by_agent;

static void count_frames(struct thread *t, const struct regs *r)
{
	void *pcs[MAX_FRAMES];
	int n = 0, own = 0;

	if (chosen != count_frames)
		return;
	if (by_agent) {
		n = mt_unwind_frames(t, r, pcs, MAX_FRAMES);
	} else {
		n = step_all(pcs);
		while (own < n && (uintptr_t)pcs[own] != r->pc)
			own++;
	}
	frames_found = n - own;
}

static int cpus_for(int threads)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	return threads < CPU_COUNT(&set) ? threads : CPU_COUNT(&set);
}

int main(int argc, char **argv)
{
	int threads = argc > 4 ? atoi(argv[4]) : 1;
	long count = argc > 5 ? atol(argv[5]) : 100000, quarter = count / 4;
	capture *run = NULL;

	depth = argc > 2 ? atoi(argv[2]) : 20;
	fresh = argc > 3 ? atoi(argv[3]) : 0;
	for (size_t i = 0; argc > 1 && i < sizeof(captures) / sizeof(captures[0]); i++)
		if (!strcmp(captures[i].name, argv[1]))
			run = captures[i].run;
	if (!run || threads < 1 || threads > MAX_THREADS)
		return 2;
	if (atomic_load(&mt_state) != AGENT_ON)
		return NO_ENGINE;
	by_agent = run == capture_agent || run == capture_recent;
	chosen = count_frames;
	in_threads(1, 1);
	chosen = run;
	double slope = in_threads(threads, quarter);
	slope = in_threads(threads, count) - slope;
	printf("ns %.3f frames %d\n",
	       slope * cpus_for(threads) / ((double)(count - quarter) * threads), frames_found);
	return 0;
}
