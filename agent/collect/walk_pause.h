/* SPDX-License-Identifier: MIT
 *
 * walk_pause.h - lets a long walk serve sockets and ticks meanwhile. Server thread.
 */
#ifndef MT_COLLECT_WALK_PAUSE_H
#define MT_COLLECT_WALK_PAUSE_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

/* All 0 when a walk begins. */
struct walk_pause {
	uint32_t steps;
	uint64_t since_ns;
};

/* Call again and again during a walk; `steps`: the work since the last call (a block is one). */
void walk_pause_take(struct server *s, struct walk_pause *p, uint32_t steps);

#pragma GCC visibility pop

#endif
