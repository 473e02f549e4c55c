/* SPDX-License-Identifier: MIT
 *
 * twins.c - for a machine without a judge (ARM under an emulator): an engine's stacks against the
 * machine's plain walk (by frame pointers on AArch64), through recursion, longjmp, functions that
 * are not instrumented, the C library's qsort, and threads. `twins [ENGINE]`: instrument, where it
 * is built with -finstrument-functions.
 */
#include "fakes.h"
#include "base/types.h"
#include "modules/maps.h"
#include "unwind/stacks.h"
#include "unwind/engine.h"
#include "unwind/unwind.h"

#include <alloca.h>
#include <memtop/wire.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((no_instrument_function, noinline))
#define NOINLINE __attribute__((noinline))
#define MANY 300

static __thread struct thread state;
static __thread jmp_buf *back;
static _Atomic int taken, wrong;

PLAIN static int path(node_id node, uintptr_t *pcs)
{
	int n = 0;

	for (; node && n < MANY; node = node_parent(mt_stacks_node(node))) {
		const struct code *c = mt_stacks_code_at(node_code(mt_stacks_node(node)));
		if (c->kind != MTW_NODE_TRUNCATED)
			pcs[n++] = c->pc;
	}
	return n;
}

PLAIN void take(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct regs r = { (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),
			  frame[0] };
	uintptr_t mine[MANY], judged[MANY], list[MANY];
	unsigned reason;
	int n = path(mt_unwind_capture(&state, &r), mine),
	    m = BEST_WALK(&state, &r, judged, MANY, &reason);
	int l = mt_unwind_frames(&state, &r, (void **)list, MANY);

	taken++;
	if (n != m || l != m || memcmp(mine, judged, (size_t)n * sizeof(*mine)) ||
	    memcmp(list, judged, (size_t)n * sizeof(*mine)))
		wrong++;
	for (int i = 0; i < n; i++)
		wrong += (uint64_t)mine[i] >> 48 != 0; /* a signature is no part of an address */
	__asm__ volatile("" ::: "memory");
}

PLAIN static void unseen(unsigned *seed, int depth);
NOINLINE static void seen(unsigned *seed, int depth);

PLAIN static unsigned next(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 10;
}

NOINLINE static void go(unsigned *seed, int depth)
{
	if (depth <= 0)
		take();
	else if (next(seed) % 3)
		seen(seed, depth - 1);
	else
		unseen(seed, depth - 1);
	take();
}

PLAIN static void unseen(unsigned *seed, int depth)
{
	go(seed, depth);
	take();
}

static __thread unsigned *sorting;

NOINLINE static int order(const void *a, const void *b)
{
	go(sorting, 2);
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void seen(unsigned *seed, int depth)
{
	jmp_buf here, *outer = back;
	char *room = alloca(next(seed) % 200 + 1);
	int v[] = { 3, 1, 2 };

	__asm__ volatile("" : : "r"(room) : "memory");
	if (next(seed) % 4 == 0 && outer)
		longjmp(*outer, 1);
	if (next(seed) % 3 == 0) {
		if (setjmp(here) == 0) {
			back = &here;
			go(seed, depth - 2);
		}
		back = outer;
		take();
	}
	sorting = seed;
	if (depth == 3)
		qsort(v, 3, sizeof(v[0]), order);
	go(seed, depth - 1);
	take();
}

PLAIN static void *run(void *arg)
{
	for (unsigned i = 0; i < 40; i++) {
		unsigned seed = (unsigned)(uintptr_t)arg * 1000 + i;
		back = NULL;
		go(&seed, (int)(i % 9));
	}
	return NULL;
}

PLAIN int main(int argc, char **argv)
{
	pthread_t thread[2];

	mt_maps_init();
	if (!mt_unwind_init(argc > 1 ? argv[1] : "instrument", true))
		return 1;
	run((void *)3);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)i);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%d stacks, %d differ\n", taken, wrong);
	return wrong || taken < 1000;
}
