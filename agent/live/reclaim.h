/* SPDX-License-Identifier: MIT
 *
 * reclaim.h - gives numbers of origins back that no block has any more.
 */
#ifndef MT_LIVE_RECLAIM_H
#define MT_LIVE_RECLAIM_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

void mt_live_reclaim(uint64_t now_ns); /* server thread, each tick */
void mt_live_reclaim_restart(void);    /* another session */

#pragma GCC visibility pop

#endif
