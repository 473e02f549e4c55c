/* SPDX-License-Identifier: MIT
 *
 * collect.h - gives numbers of origins back that no block has any more.
 */
#ifndef MT_LIVE_COLLECT_H
#define MT_LIVE_COLLECT_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

void mt_live_collect(uint64_t now_ns); /* server thread, each tick */
void mt_live_collect_restart(void);    /* another session */

#pragma GCC visibility pop

#endif
