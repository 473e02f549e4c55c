/* SPDX-License-Identifier: MIT
 *
 * noise.c - see diff/noise.h.
 */
#include "diff/noise.h"

#define WIDER_WITH_TWO 10.0

struct range {
	uint64_t low, high;
};

static struct range range_of(const uint64_t *list, size_t count)
{
	struct range r = { list[0], list[0] };

	for (size_t i = 1; i < count; i++) {
		r.low = list[i] < r.low ? list[i] : r.low;
		r.high = list[i] > r.high ? list[i] : r.high;
	}
	return r;
}

bool noise_apart(const uint64_t *a, size_t count_a, const uint64_t *b, size_t count_b)
{
	struct range x = range_of(a, count_a), y = range_of(b, count_b);
	double spread = (double)(x.high - x.low) + (double)(y.high - y.low);

	if (count_a <= 2 || count_b <= 2)
		spread *= WIDER_WITH_TWO;
	if (y.low > x.high)
		return (double)(y.low - x.high) > spread;
	return x.low > y.high && (double)(x.low - y.high) > spread;
}
