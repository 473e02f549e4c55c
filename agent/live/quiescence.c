/* SPDX-License-Identifier: MIT
 *
 * quiescence.c - sees each thread outside the guard of record/record.c (busy_sp), after a memory
 * barrier of all.
 */
#include "live/quiescence.h"
#include "base/prim_linux.h"
#include "base/thread_list.h"
#include "live/leaves.h"

#include <sys/syscall.h>

#define POLLS 40
#define POLL_NS 50000

static bool inside(const struct thread *t)
{
	uintptr_t busy = __atomic_load_n(&t->busy_sp, __ATOMIC_ACQUIRE);

	return !t->shared && busy && busy != BUSY_OVER;
}

/* Was each thread outside of its guard at some time since the barrier? */
static bool all_outside(void)
{
	long moment[2] = { 0, POLL_NS };
	int left = POLLS;

	for (const struct thread *t = atomic_load(&mt_threads); t;) {
		if (!inside(t)) {
			t = t->next;
			continue;
		}
		if (!left--)
			return false;
		mt_prim_call(SYS_nanosleep, (long)moment, 0, 0, 0, 0, 0);
	}
	return !atomic_load(&mt_live_unguarded);
}

/* The second barrier: where stores are seen out of order, an entry may be seen after its guard's
 * end. */
bool mt_live_quiescent(void)
{
	return mt_prim_barrier() && all_outside() && mt_prim_barrier();
}
