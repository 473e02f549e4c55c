/* SPDX-License-Identifier: MIT
 *
 * scan_memory.h - the parts of the process's memory. Server thread.
 */
#ifndef MT_SCAN_SCAN_MEMORY_H
#define MT_SCAN_SCAN_MEMORY_H

#include "base/types.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

struct server;
struct mtw_out;

/* Writes the payload after the request; false: no memory. */
bool scan_memory(struct server *s, struct mtw_out *o);

#pragma GCC visibility pop

#endif
