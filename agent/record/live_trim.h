/* SPDX-License-Identifier: MIT
 *
 * live_trim.h - gives memory of the live map back where no block is live any more.
 */
#ifndef MT_RECORD_LIVE_TRIM_H
#define MT_RECORD_LIVE_TRIM_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

void mt_live_give_back(uint64_t now_ns); /* server thread, each tick */

#pragma GCC visibility pop

#endif
