/* SPDX-License-Identifier: MIT
 *
 * state.h - state that the whole agent shares: whether it is on, which process it belongs to, what
 * it has given up, and the counters whose change makes remembered stacks stale. hooks/init.c and
 * hooks/attach.c set it; any thread and the server read it.
 */
#ifndef MT_BASE_STATE_H
#define MT_BASE_STATE_H

#include "base/compiler.h"
#include "base/types.h"

#pragma GCC visibility push(hidden)

extern _Atomic int mt_state;  /* enum agent_state */
extern uint64_t mt_start_ns;  /* CLOCK_MONOTONIC when the agent started */
extern int mt_pid;            /* the process that is watched */
extern int mt_own_pid;        /* this one: another in a forked child; as of the last fork seen */
extern uint64_t mt_forked_ns; /* when it was forked, CLOCK_MONOTONIC_COARSE; 0 = it was executed */
/* what its parents did up to then: all its sums have it; else 0 */
extern struct tally mt_before_fork;
extern _Atomic bool mt_forks;    /* this process has forked once */
extern _Atomic bool mt_attached; /* hooks came by memtop_attach(), and can be taken out */
/* inside the first set-up: its allocations are not the program's */
extern _Atomic bool mt_setting_up;

MT_INLINE bool mt_state_attached(void)
{
	return atomic_load_explicit(&mt_attached, memory_order_relaxed);
}

const char *mt_state_program(void);     /* its name, without folders */
const char *mt_state_preload(void);     /* the agent's own entry of LD_PRELOAD, "" = none */
const char *mt_state_saved(unsigned i); /* its variables as they were, then NULL */
void mt_state_keep_preload(const char *entry);
bool mt_state_keep_saved(const char *variable); /* false: there is no more room */

enum seal { SEAL_NONE, SEAL_RIGHTS, SEAL_FILTER };
void mt_state_seal(enum seal to); /* the process gives up rights: never start a server later */
enum seal mt_state_sealed(void);  /* the highest so far */
bool mt_state_gave_up(void);      /* it gave up rights */
bool mt_state_filtered(void);     /* ... system calls that it does not make itself may kill it */
/* that of the process which this memory belongs to: no child of vfork's */
bool mt_state_is_pid(int pid);
bool mt_state_is_fork(void); /* it came by fork, and has executed nothing since */
/* it came by fork, or has forked: pages may be a relative's, too */
bool mt_state_shares_pages(void);

/*
 * Changes after anything did that a remembered stack (struct hit) was concluded from: the epoch,
 * the modules, the birth tick, the collector's pass. One word to look at for each event.
 */
extern _Atomic uint32_t mt_era;
MT_INLINE void mt_era_next(void)
{
	atomic_fetch_add_explicit(&mt_era, 1, memory_order_release);
}

extern _Atomic uint64_t mt_epoch; /* record/slots.c moves it, at a mark */
extern _Atomic uint32_t mt_pass;  /* the collector's pass; stamps copy it */

#pragma GCC visibility pop

#endif
