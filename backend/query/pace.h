/* SPDX-License-Identifier: MIT
 *
 * pace.h - how fast something allocates: over the last second; below CALLS_FEW calls per second,
 * over the last ten. One second has too few calls to tell a slow rate.
 */
#ifndef QUERY_PACE_H
#define QUERY_PACE_H

#include "model/model.h"

#define CALLS_FEW 10 /* per second */

/* What was allocated so far, at points of the last ten seconds. All zero: none. */
struct pace {
	uint64_t ns[11], calls[11], bytes[11]; /* oldest first */
	size_t count;
	/* per second, of the last pace_add(); known: there was a point to count from */
	double calls_rate, bytes_rate;
	bool known;
};

/* Call it at each refresh. Begins again after a gap, and when the clock or `sum` went back. */
void pace_add(struct pace *p, uint64_t now_ns, const struct tally *sum);

#endif
