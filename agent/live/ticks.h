/* SPDX-License-Identifier: MIT
 *
 * ticks.h - birth ticks: when a block was allocated, in 16 bits. base/types.h has the lengths.
 */
#ifndef MT_LIVE_TICKS_H
#define MT_LIVE_TICKS_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* Round 32 (live/origins.h) | 1 in 2 bits | tick 16 | 0 in 14 bits: with a thread's index, what its
 * numbers are of. It never comes again. The server alone changes it. */
extern _Atomic uint64_t mt_live_now;
#define NOW_ROUND 32
#define NOW_TICK 14

bool mt_live_ticks_init(void);           /* false: no memory */
void mt_live_ticks_restart(void);        /* no thread counts */
uint32_t mt_live_tick(void);             /* the current one */
uint64_t mt_live_tick_ns(uint32_t tick); /* when it began, ns since start */
/* These begin an era. Server thread; ns since start. */
void mt_live_advance(uint64_t now_ns, bool mark);
void mt_live_next_round(void);

#pragma GCC visibility pop

#endif
