/* SPDX-License-Identifier: MIT
 *
 * probe.c - one stack, taken four ways: by the incremental capture (its path in the trie), by
 * the plain walk, by a second capture at once, and by libunwind's unw_step as the judge.
 *
 * All four must name the same pcs, and so must a stack that was remembered (struct hit), if there
 * is one: by the same comparisons as in the hooks. Nothing is tolerated: a truncated stack is a
 * difference, too, except when a signal met a capture of its own thread, where it must say REENTRY.
 */
#include "probe.h"
#include "fakes.h"
#include "lists.h"
#include "base/conf.h"
#include "base/types.h"
#include "modules/maps.h"
#include "unwind/fast.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#define PRINTED 20
#define STACK_BYTES (4u << 20) /* frames of 20,000 bytes, and the judge's */

static _Atomic long captures, differences, frames, reentries, exacts, hits;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread struct thread state;
static __thread int in_storm; /* inside of a storm's handler */
static _Atomic int storming;
/* In libc's context switch, where the judge does not follow the table: it says where sp is kept. */
static __thread volatile int switching;

static uintptr_t restorer; /* what signal handlers return to */

static void learn_restorer(int sig)
{
	(void)sig;
	restorer = (uintptr_t)__builtin_return_address(0);
}

static void begin(void)
{
	signal(SIGPROF, learn_restorer);
	raise(SIGPROF);
	mt_maps_init();
	const char *engine = getenv("PROBE_ENGINE");
	if (!mt_unwind_init(engine ? engine : "cfi", true) ||
	    (engine && strcmp(engine, mt_conf.unwind))) {
		puts("FAIL no such engine");
		exit(1);
	}
}

static void differ(const char *what, unsigned reason, const struct list *judged,
		   const struct list *mine)
{
	if (atomic_fetch_add(&differences, 1) >= PRINTED)
		return;
	printf("difference: %s (truncation %u)\n", what, reason);
	list_print(stdout, "libunwind", judged);
	list_print(stdout, "memtop", mine);
	fflush(stdout);
}

/* As record.c does, where the guard is: 0 = not met lately. */
static struct hit *met(const struct regs *r)
{
	struct hit *h = state.hits ? unwind_recent(&state, r->pc, r->sp, r->fp) : NULL;

	if (h && h->few != HIT_DEEP && !unwind_hits(h, r->pc, r->sp, r->fp, mt_era_now())) {
		puts("difference: the two comparisons of remembered stacks disagree");
		atomic_fetch_add(&differences, 1);
	}
	return h;
}

static void remember(const struct regs *r, node_id node)
{
	if (!state.hits)
		state.hits = calloc(HITS, sizeof(*state.hits));
	struct hit *h = unwind_hit_place(&state, r->pc, r->sp);
	h->sp = 0;
	if (!unwind_is_plain(state.unwind, r))
		return;
	unwind_remember(state.unwind, h);
	h->slot = node;
}

static void compare(const struct regs *r)
{
	static __thread struct list judged, mine, before;
	void *plain[DEEPEST];
	bool guarded = !in_storm;
	struct hit *h = guarded ? met(r) : NULL;

	if (h)
		list_path(h->slot, &before);
	node_id node = mt_unwind_capture(&state, r);
	node_id again = mt_unwind_capture(&state, r);
	unsigned reason = list_path(node, &mine);
	if (guarded && !atomic_load(&storming))
		remember(r, node);

	atomic_fetch_add(&captures, 1);
	if (reason == MTW_TRUNC_REENTRY && mine.n == 1 && mine.pc[0] == r->pc) {
		atomic_fetch_add(&reentries, 1);
		return;
	}
	list_judge(r, restorer, &judged);
	atomic_fetch_add(&frames, judged.n);
	for (int i = 0; i < judged.n; i++)
		atomic_fetch_add(&exacts, judged.exact[i]);
	if (reason || !list_equal(&judged, &mine, true))
		differ("capture", reason, &judged, &mine);
	atomic_fetch_add(&hits, h != NULL);
	if (h && !list_equal(&judged, &before, true))
		differ("remembered", 0, &judged, &before);
	if (node != again) {
		list_path(again, &mine);
		differ("second capture", 0, &judged, &mine);
	}
	mine.n = mt_unwind_frames(&state, r, plain, DEEPEST);
	memcpy(mine.pc, plain, sizeof(plain));
	if (!list_equal(&judged, &mine, false))
		differ("plain walk", 0, &judged, &mine);
}

static void coroutine_start(unsigned low, unsigned high);

/*
 * A signal met libc's context switch between its pushing the coroutine's first address and its jump
 * there: what looks like a return address is the beginning of a function, before which there may be
 * no table.
 */
static bool about_to_start(const struct list *l, unsigned reason)
{
	return switching && reason == MTW_TRUNC_NO_CFI && l->n &&
	       l->pc[l->n - 1] == (uintptr_t)coroutine_start;
}

/* In a storm: no judge, so that signals meet captures and the program's own code instead of him. */
static void compare_lightly(const struct regs *r)
{
	struct list mine, plain;
	void *pcs[DEEPEST];
	unsigned reason = list_path(mt_unwind_capture(&state, r), &mine);

	atomic_fetch_add(&captures, 1);
	plain.n = mt_unwind_frames(&state, r, pcs, DEEPEST);
	memcpy(plain.pc, pcs, sizeof(pcs));
	if (reason == MTW_TRUNC_REENTRY && mine.n == 1 && mine.pc[0] == r->pc)
		atomic_fetch_add(&reentries, 1);
	else if ((reason && !about_to_start(&mine, reason)) || !list_equal(&plain, &mine, false))
		differ("capture in a storm", reason, &plain, &mine);
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) void probe(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct regs r = { (uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
			  frame[0] };

	if (atomic_load(&storming) && (!in_storm || switching))
		compare_lightly(&r);
	else
		compare(&r);
	__asm__ volatile("" ::: "memory");
}

unsigned probe_random(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void on_signal(int sig)
{
	(void)sig;
	in_storm++;
	probe();
	in_storm--;
}

/* Between two guard pages. */
static char *map_stack(size_t bytes)
{
	char *stack = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(stack + 4096, bytes, PROT_READ | PROT_WRITE);
	return stack + 4096;
}

void probe_thread_begin(void)
{
	size_t bytes = STACK_BYTES;
	stack_t alternate = { .ss_size = bytes };

	pthread_once(&once, begin);
	alternate.ss_sp = map_stack(bytes);
	sigaltstack(&alternate, NULL);
}

void probe_thread_end(void)
{
	stack_t alternate, off = { .ss_flags = SS_DISABLE };

	sigaltstack(NULL, &alternate);
	sigaltstack(&off, NULL);
	munmap((char *)alternate.ss_sp - 4096, alternate.ss_size + 8192);
	mt_unwind_thread_end(&state);
}

void probe_storm(int per_second)
{
	static timer_t timer;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec often = { { 0, 0 }, { 0, 0 } };

	if (!per_second) {
		if (atomic_exchange(&storming, 0))
			timer_delete(timer);
		return;
	}
	probe_thread_begin();
	sigaction(SIGPROF, &action, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	often.it_value.tv_nsec = often.it_interval.tv_nsec = 1000000000 / per_second;
	atomic_store(&storming, 1);
	timer_settime(timer, 0, &often, NULL);
}

struct coroutine {
	void (*body)(void *);
	void *arg;
};

static void coroutine_start(unsigned low, unsigned high)
{
	struct coroutine *c = (struct coroutine *)((uintptr_t)high << 32 | low);

	switching = 0;
	c->body(c->arg);
	switching = 1;
}

/* The stack is unmapped afterwards, so that addresses come again. */
void probe_coroutine(void (*body)(void *), void *arg)
{
	struct coroutine c = { body, arg };
	size_t bytes = STACK_BYTES;
	ucontext_t here, there;
	char *stack = map_stack(bytes);

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &here;
	makecontext(&there, (void (*)(void))coroutine_start, 2, (unsigned)(uintptr_t)&c,
		    (unsigned)((uintptr_t)&c >> 32));
	switching = 1;
	swapcontext(&here, &there);
	switching = 0;
	munmap(stack - 4096, bytes + 8192);
}

int probe_report(const char *name)
{
	long bad = atomic_load(&differences);

	if (!mt_stacks_check()) {
		puts("the trie is not whole");
		bad++;
	}
	printf("%s %s: %ld captures, %ld remembered, %ld frames, %ld interrupted, %ld reentries, "
	       "%u nodes, %ld differences\n",
	       bad ? "FAIL" : "PASS", name, atomic_load(&captures), atomic_load(&hits),
	       atomic_load(&frames), atomic_load(&exacts), atomic_load(&reentries),
	       mt_stacks_count(), bad);
	fflush(stdout);
	return bad != 0;
}
