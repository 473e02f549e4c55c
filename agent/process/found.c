/* SPDX-License-Identifier: MIT
 *
 * found.c - looks up the real functions for a process hook that runs before the agent's
 * constructor.
 */
#include "process/found.h"
#include "base/state.h"

#include <errno.h>

/* Also when set-up failed or has not begun; allocations of the lookups come from the pool. */
void mt_hooks_find(void)
{
	int kept = errno;

	if (atomic_load(&mt_state) == AGENT_EARLY)
		mt_init_early();
	if (!atomic_load_explicit(&mt_process.xfound, memory_order_acquire))
		mt_hooks_proc_init();
	errno = kept;
}
