/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "diff/noise.h"

TEST(ranges_must_lie_apart_by_more_than_both)
{
	static const struct {
		uint64_t a[3], b[3];
		bool apart;
	} cases[] = {
		{ { 10, 10, 10 }, { 10, 10, 10 }, false },
		{ { 10, 10, 10 }, { 11, 11, 11 }, true }, /* no noise: any difference */
		{ { 11, 11, 11 }, { 10, 10, 10 }, true },
		{ { 10, 20, 15 }, { 20, 30, 25 }, false }, /* they touch */
		{ { 10, 20, 15 }, { 21, 31, 25 }, false }, /* apart, by less than they are wide */
		{ { 10, 20, 15 }, { 40, 50, 45 }, false }, /* by just as much */
		{ { 10, 20, 15 }, { 41, 51, 45 }, true },
		{ { 41, 51, 45 }, { 10, 20, 15 }, true },
		{ { 0, 0, 100 }, { 0, 100, 0 }, false },
		{ { 0, 0, 0 }, { UINT64_MAX, UINT64_MAX, UINT64_MAX }, true },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_EQ(noise_apart(cases[i].a, 3, cases[i].b, 3), cases[i].apart);
}

TEST(two_sessions_a_side_need_a_wider_gap)
{
	uint64_t a[] = { 10, 20, 15 }, near[] = { 41, 51, 45 }, far[] = { 241, 250, 245 };

	CHECK(!noise_apart(a, 2, near, 2));
	CHECK(!noise_apart(a, 3, near, 2));
	CHECK(noise_apart(a, 2, far, 2));
}

/* With one session B, the most that is no change is where noise_apart() begins. */
TEST(the_most_of_one_session)
{
	uint64_t a[] = { 10, 20, 15 }, same[] = { 7, 7 }, wide[] = { 0, UINT64_MAX / 2 };

	CHECK_EQ(noise_most(a, 3), 120);
	CHECK_EQ(noise_most(same, 2), 7);
	CHECK_EQ(noise_most(wide, 2), UINT64_MAX);
	for (uint64_t b = 100; b < 140; b++)
		CHECK_EQ(noise_apart(a, 3, &b, 1), b > noise_most(a, 3));
}

static double noise_of(int kind)
{
	double u = (rand() + 1.0) / (RAND_MAX + 2.0), sum = 0;

	if (kind == 0)
		return u;
	for (int i = 0; i < 12; i++)
		sum += (rand() + 1.0) / (RAND_MAX + 2.0);
	return kind == 1 ? sum : u * u * u * u;
}

/* The promise of noise.h, for three sessions a side. */
TEST(chance_is_rarely_a_change)
{
	srand(11);
	for (int kind = 0; kind < 3; kind++) {
		int found = 0;
		for (int round = 0; round < 20000; round++) {
			uint64_t a[3], b[3];
			for (int i = 0; i < 3; i++) {
				a[i] = (uint64_t)(noise_of(kind) * 1e6);
				b[i] = (uint64_t)(noise_of(kind) * 1e6);
			}
			found += noise_apart(a, 3, b, 3);
		}
		CHECK(found < 20000 * 8 / 1000);
	}
}
