/* SPDX-License-Identifier: MIT
 *
 * room.h - the memory that the target may still take. Server thread.
 */
#ifndef MT_COLLECT_ROOM_H
#define MT_COLLECT_ROOM_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* Bytes; UINT64_MAX: nothing could be read. `root` stands before /proc and /sys: "" but in tests.
 */
uint64_t room_left(const char *root, int pid);

#pragma GCC visibility pop

#endif
