/* SPDX-License-Identifier: MIT
 *
 * reals.h - the functions behind the hooks outside the malloc family: the rows of modules/names.h.
 *
 * They are NULL until looked up, because another library's constructor may call a hook before any
 * code of the agent ran. No hook looks anything up after that: exec is mostly called in a forked
 * child. A lookup takes the loader's locks, and in such a child they stay held if another thread
 * was in the loader at the fork.
 */
#ifndef MT_HOOKS_REALS_H
#define MT_HOOKS_REALS_H

#include "hooks/init.h"
#include "modules/names.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

struct reals {
	_Atomic bool xfound; /* all were looked for */
	bool wrapped;        /* some waits are not the C library's: then none is split */
	/* NULL: the C library has none, or the agent is linked in */
	PROCESS_NAMES(NAMES_MEMBER)
	TIMED_NAMES(NAMES_MEMBER)
	UNTIMED_NAMES(NAMES_MEMBER)
	WAIT_NAMES(NAMES_MEMBER)
	CALLED_NAMES(NAMES_MEMBER)
	PROCESS_FOREIGN_NAMES(NAMES_MEMBER) /* NULL also where they are the C library's */
	int (*own_execvpe)(const char *, char *const *, char *const *); /* the C library's */
};

extern struct reals mt_reals;

/* Once, from init; also when set-up failed or has not begun. */
void mt_reals_init(void);

/* Makes sure that they are known, whichever hook runs first. */
MT_INLINE void hooks_found(void)
{
	if (unlikely(!atomic_load_explicit(&mt_reals.xfound, memory_order_acquire)))
		mt_init_find();
}

#pragma GCC visibility pop

#endif
