/* SPDX-License-Identifier: MIT
 *
 * query_shape.c - the shape of a growth, from the net bytes of successive intervals and their
 * lengths.
 *
 *   steady     grew in all, the newer half at least 3/4 as fast as the older: a leak looks like
 * this slowing    grew on the whole, the newer half slower than that: a warm-up looks like this
 *   step       one interval, no longer than the others together, holds at least 9/10 of all growth
 *   saw-tooth  grew and shrank
 *   shrinking  became smaller on the whole
 *   flat       below the larger of 4 KiB and 0.1 % of what is live
 * Fewer than three intervals say nothing yet.
 */
#include "query_priv.h"

#include <stdlib.h>

enum shape shape_of(const int64_t *net, const uint64_t *ns, size_t count, uint64_t live,
		    uint32_t *grew)
{
	int64_t total = 0, older = 0, newer = 0, shrunk = 0; /* grown = total + shrunk */
	uint64_t time = 0, older_ns = 0, newer_ns = 0;
	size_t largest = 0;
	int64_t floor = live / 1000 > 4096 ? (int64_t)(live / 1000) : 4096;

	*grew = 0;
	for (size_t i = 0; i < count; i++) {
		total += net[i];
		*grew += net[i] > 0;
		shrunk -= net[i] < 0 ? net[i] : 0;
		time += ns[i];
		largest = net[i] > net[largest] ? i : largest;
		if (i < count / 2) {
			older += net[i];
			older_ns += ns[i];
		}
		if (i >= count - count / 2) {
			newer += net[i];
			newer_ns += ns[i];
		}
	}
	if (count < 3)
		return SHAPE_YOUNG;
	if (total <= -floor)
		return (total + shrunk) * 4 > shrunk ? SHAPE_SAWTOOTH : SHAPE_SHRINKING;
	if (total < floor)
		return shrunk > floor ? SHAPE_SAWTOOTH : SHAPE_FLAT;
	if (shrunk * 4 > total)
		return SHAPE_SAWTOOTH;
	if ((double)net[largest] >= 0.9 * (double)total && ns[largest] <= time - ns[largest])
		return SHAPE_STEP;
	if (*grew == count &&
	    (double)newer * (double)older_ns >= 0.75 * (double)older * (double)newer_ns)
		return SHAPE_STEADY;
	return SHAPE_SLOWING;
}
