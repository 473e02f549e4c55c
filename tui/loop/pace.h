/* SPDX-License-Identifier: MIT
 *
 * pace.h - how long the view waits from one refresh to the next.
 */
#ifndef LOOP_PACE_H
#define LOOP_PACE_H

#include <stdint.h>

#define PACE_NS 250000000u                /* while somebody works with it */
#define PACE_CALM_NS 1000000000u          /* while nobody does: it is looked at now and then */
#define PACE_CALM_AFTER_NS 60000000000ull /* from the last key */
#define PACE_SHARE 5 /* a refresh that took t is followed by at least 4 t for the keyboard */

/* touched_ns: of the last key, or of the start; cost_ns: what the last refresh took. */
static inline uint64_t pace_pause(uint64_t now_ns, uint64_t touched_ns, uint64_t cost_ns)
{
	uint64_t least = now_ns - touched_ns < PACE_CALM_AFTER_NS ? PACE_NS : PACE_CALM_NS;

	return cost_ns * PACE_SHARE > least ? cost_ns * PACE_SHARE : least;
}

#endif
