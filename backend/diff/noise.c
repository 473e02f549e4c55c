/* SPDX-License-Identifier: MIT */
#include "diff/noise.h"

#define FEW 2u            /* sessions on a side, and */
#define WIDER_WITH_FEW 10 /* the gap is so many times as wide */

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

uint64_t noise_most(const uint64_t *a, size_t count_a)
{
	struct range x = range_of(a, count_a);
	uint64_t spread = x.high - x.low;

	return spread > (UINT64_MAX - x.high) / WIDER_WITH_FEW ? UINT64_MAX
							       : x.high + spread * WIDER_WITH_FEW;
}

bool noise_apart(const uint64_t *a, size_t count_a, const uint64_t *b, size_t count_b)
{
	struct range x = range_of(a, count_a), y = range_of(b, count_b);
	double spread = (double)(x.high - x.low) + (double)(y.high - y.low);

	if (count_a <= FEW || count_b <= FEW)
		spread *= WIDER_WITH_FEW;
	if (y.low > x.high)
		return (double)(y.low - x.high) > spread;
	return x.low > y.high && (double)(x.low - y.high) > spread;
}
