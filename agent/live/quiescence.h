/* SPDX-License-Identifier: MIT
 *
 * quiescence.h - has every thread been outside the agent since a change?
 */
#ifndef MT_LIVE_QUIESCENCE_H
#define MT_LIVE_QUIESCENCE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* True: every event that had begun before the call is over, and its entries are seen; every later
 * one sees what the caller stored before. False: unknown, for some thread stayed inside (it lost
 * its cpu, or left by a jump), or the kernel has no membarrier. Server thread; takes 2 ms at most.
 */
bool mt_live_quiescent(void);

#pragma GCC visibility pop

#endif
