/* SPDX-License-Identifier: MIT
 *
 * breath.h - lets a long walk serve sockets and ticks meanwhile. Server thread.
 */
#ifndef MT_COLLECT_BREATH_H
#define MT_COLLECT_BREATH_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct server;

/* All 0 at the begin of a walk. */
struct breath {
	uint32_t steps;
	uint64_t since_ns;
};

/* On the way; a block is a step. */
void breath_take(struct server *s, struct breath *b, uint32_t steps);

#pragma GCC visibility pop

#endif
