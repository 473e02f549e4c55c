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
void mt_init_tell_at_exit(void); /* the server is up: it is to learn of exit() */
/* what hooks/spawn.c has to undo in a forked child; NULL = nothing */
extern void (*_Atomic mt_init_in_child)(void);
void mt_init_forked(void);        /* first thing in a forked child */
void mt_init_dormant(void);       /* from a forked child's hooks: wake up? */
void mt_init_forks(void);         /* it forks a child itself: a master? */
uint64_t mt_init_waits(void);     /* a dormant process is about to wait; ns until it
				   * is to wake, 0 = it did, or never will */
void mt_init_daemon_begins(void); /* daemon() is called: its caller will end by it */
void mt_init_daemon(void);        /* daemon() has returned in the child */
void mt_init_exits(int status);   /* _exit() or exit() is under way */
void mt_init_quick(int status);   /* quick_exit() is */
void mt_init_aborts(void);        /* abort() is */

MT_INLINE void hooks_in_child(void) /* ... which no hook has told yet that it is one */
{
	if (mt_thread_forked())
		mt_init_forked();
}

#pragma GCC visibility pop

#endif
