/* SPDX-License-Identifier: MIT
 *
 * init.h - the agent's start, and its part in fork, exec and exit. The target's threads.
 */
#ifndef MT_HOOKS_INIT_H
#define MT_HOOKS_INIT_H

#include "base/compiler.h"
#include "base/types.h"
#include "record/thread.h"

#pragma GCC visibility push(hidden)

bool mt_init_late(void);  /* attached: all but the options; false: no memory, no such engine */
bool mt_init_early(void); /* first hook, before the constructor */
/* a hook before both: finds the functions behind the hooks, also when set-up failed */
MT_COLD void mt_init_find(void);
void mt_init_tell_at_exit(void); /* the server is up: from now on tell it of exit() */
/* undoes the work of process/spawn.c in a forked child; NULL = nothing to undo */
extern void (*_Atomic mt_init_in_child)(void);
void mt_init_forked(void);    /* the first call in a forked child */
void mt_init_dormant(void);   /* from a forked child's hooks: wake up? */
void mt_init_forks(void);     /* it forks a child itself: a master? */
uint64_t mt_init_waits(void); /* a dormant process is about to wait; returns the ns until it wakes,
				 0 = it did, or never will */
void mt_init_daemon_begins(void); /* daemon() is called: it will end its caller */
void mt_init_daemon(void);        /* daemon() has returned in the child */
void mt_init_exits(int status);   /* _exit() or exit() is under way */
void mt_init_quick(int status);   /* quick_exit() is */
void mt_init_aborts(void);        /* abort() is */

MT_INLINE void hooks_in_child(void) /* ... which no hook has recognised as one yet */
{
	if (mt_thread_forked())
		mt_init_forked();
}

#pragma GCC visibility pop

#endif
