/* SPDX-License-Identifier: MIT
 *
 * scan.h - reads the whole live map.
 */
#ifndef MT_LIVE_SCAN_H
#define MT_LIVE_SCAN_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* addr: of a small block, rounded to the granule. Leaf by leaf, ascending within one. Server
 * thread. */
extern uint32_t mt_live_walked; /* percent of a walk under way, plus 1; 0 = none is */
void mt_live_scan(void (*visit)(void *arg, uintptr_t addr, const struct block *b), void *arg);

#pragma GCC visibility pop

#endif
