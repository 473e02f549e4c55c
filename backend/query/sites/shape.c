/* SPDX-License-Identifier: MIT
 *
 * shape.c - the shape of a growth, from the net bytes of successive intervals, their lengths, and
 * the swing within one.
 *
 *   steady     grew in total, the newer half at least 3/4 as fast as the older: typical of a leak
 *   slowing    grew in total, the newer half slower than that: typical of a warm-up
 *   step       one interval, no longer than the others together, holds at least 9/10 of all growth
 *   saw-tooth  grew and shrank; or the growth is no more than its swing makes by chance
 *   shrinking  became smaller in total
 *   flat       below the larger of 4 KiB and 0.1 % of what is live, and hardly any swing
 * Fewer than three intervals give no shape.
 */
#include "query/sites/shape.h"

#include <stdlib.h>

#define STILL_LEAST 4096
#define STILL_PART 1000    /* of what is live */
#define SWING_LEAST 16384u /* less up and down is flat */
#define SWING_PART 256u

struct swings_seen {
	int64_t total, older, newer, shrunk, largest; /* grown = total + shrunk */
	uint64_t time, older_ns, newer_ns, largest_ns;
};

static struct swings_seen sum_up(const int64_t *net, const uint64_t *ns, size_t count,
				 uint32_t *grew)
{
	struct swings_seen s = { .largest = INT64_MIN };

	*grew = 0;
	for (size_t i = 0; i < count; i++) {
		s.total += net[i];
		*grew += net[i] > 0;
		s.shrunk -= net[i] < 0 ? net[i] : 0;
		s.time += ns[i];
		if (net[i] > s.largest) {
			s.largest = net[i];
			s.largest_ns = ns[i];
		}
		if (i < count / 2) {
			s.older += net[i];
			s.older_ns += ns[i];
		}
		if (i >= count - count / 2) {
			s.newer += net[i];
			s.newer_ns += ns[i];
		}
	}
	return s;
}

static bool swings(const struct swing *w, uint64_t live, int64_t still)
{
	uint64_t least = live / SWING_PART > SWING_LEAST ? live / SWING_PART : SWING_LEAST;

	return w->usual > least && w->usual > (uint64_t)still;
}

enum shape shape_of(const int64_t *net, const uint64_t *ns, size_t count, uint64_t live,
		    const struct swing *w, uint32_t *grew)
{
	struct swings_seen s = sum_up(net, ns, count, grew);
	int64_t still =
		live / STILL_PART > STILL_LEAST ? (int64_t)(live / STILL_PART) : STILL_LEAST;

	if (count < 3)
		return SHAPE_YOUNG;
	if (s.total <= -still)
		return (s.total + s.shrunk) * 4 > s.shrunk || (uint64_t)-s.total < w->noise
			       ? SHAPE_SAWTOOTH
			       : SHAPE_SHRINKING;
	if (s.total < still)
		return s.shrunk > still || swings(w, live, still) ? SHAPE_SAWTOOTH : SHAPE_FLAT;
	if (s.shrunk * 4 > s.total || (uint64_t)s.total < w->noise)
		return SHAPE_SAWTOOTH;
	if ((double)s.largest >= 0.9 * (double)s.total && s.largest_ns <= s.time - s.largest_ns)
		return SHAPE_STEP;
	if (*grew == count &&
	    (double)s.newer * (double)s.older_ns >= 0.75 * (double)s.older * (double)s.newer_ns)
		return SHAPE_STEADY;
	return SHAPE_SLOWING;
}
