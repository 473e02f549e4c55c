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

extern _Atomic int mt_state; /* enum agent_state */
extern uint64_t mt_start_ns; /* CLOCK_MONOTONIC when the agent started */
/* nanoseconds since then, some milliseconds behind, never 0: at that instant nothing was */
uint64_t mt_state_coarse_ns(void);
extern int mt_pid; /* the process that is watched */
/* this process, as of the last fork seen: not mt_pid in a forked child that has no session yet */
extern int mt_own_pid;
extern uint64_t mt_forked_ns; /* when it was forked, CLOCK_MONOTONIC_COARSE; 0 = it was executed */
/* its parents' counts up to the fork, which its sums include; else 0 */
extern struct tally mt_before_fork;
extern _Atomic bool mt_forks;    /* this process has forked once */
extern _Atomic bool mt_attached; /* memtop_attach() put the hooks in place; they can be removed */
/* inside the first set-up, whose allocations are not the program's */
extern _Atomic bool mt_setting_up;

MT_INLINE bool mt_state_attached(void)
{
	return atomic_load_explicit(&mt_attached, memory_order_relaxed);
}

const char *mt_state_program(void); /* its name, without folders */
const char *mt_state_preload(void); /* the agent's own entry of LD_PRELOAD, "" = none */
/* The environment that main will see. Functions of the program's .preinit_array run before libc has
 * set `environ`: then it is read where the kernel put it, behind the arguments, once libc can be
 * used at all: glibc's __libc_single_threaded is set. NULL: not yet. */
char **mt_state_environment(void);
const char *mt_state_variable(const char *name); /* of "NAME="; NULL = not set */
/* the MEMTOP_ variables taken out of its environment, unchanged; NULL after the last */
const char *mt_state_saved(unsigned i);
void mt_state_keep_preload(const char *entry);
bool mt_state_keep_saved(const char *variable); /* false: there is no more room */

enum seal { SEAL_NONE, SEAL_RIGHTS, SEAL_FILTER };
void mt_state_seal(enum seal to); /* the process gives up rights: never start a server later */
enum seal mt_state_sealed(void);  /* the highest so far */
bool mt_state_gave_up(void);      /* it gave up rights */
/* it uses seccomp: system calls that the program does not make itself may kill it */
bool mt_state_filtered(void);
/* pid of the process that owns this memory: never that of a vfork child */
bool mt_state_is_pid(int pid);
bool mt_state_is_fork(void); /* a fork that has not executed another program since */
/* a fork, or it has forked: a relative may share its pages */
bool mt_state_shares_pages(void);

/* Changes with everything that a remembered stack (struct hit) depends on: the epoch, the modules,
 * the birth tick, the collector's pass. Each event tests this one word. So the word also says
 * whether a filter is on: no stack has an era with that bit. */
#define ERA_FILTERED 1u
extern _Atomic uint32_t mt_era;
MT_INLINE void mt_era_next(void)
{
	atomic_fetch_add_explicit(&mt_era, ERA_FILTERED + 1, memory_order_release);
}

/* What a stack found up to date now has as its era. */
MT_INLINE uint32_t mt_era_now(void)
{
	return atomic_load_explicit(&mt_era, memory_order_acquire) & ~ERA_FILTERED;
}

extern _Atomic uint64_t mt_epoch; /* record/slots.c moves it, at a mark and in a forked child */
/* this process's own first one: slots of earlier ones hold what it inherited. 0: it was executed */
extern uint64_t mt_first_epoch;
extern _Atomic uint32_t mt_pass; /* stamps of counters copy it: record/slots.c */

#pragma GCC visibility pop

#endif
