/* SPDX-License-Identifier: MIT
 *
 * trim.h - gives memory of the live map back where no block is live any more.
 */
#ifndef MT_LIVE_TRIM_H
#define MT_LIVE_TRIM_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* Server thread, each tick. `peak_bytes`: the heap's highest so far. */
void mt_live_give_back(uint64_t now_ns, uint64_t peak_bytes);

#pragma GCC visibility pop

#endif
