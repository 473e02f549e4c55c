/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "query/pace.h"

#define SECOND UINT64_C(1000000000)

/* Runs for a minute, with a look every quarter of a second and blocks of 40 bytes. After 20 seconds
 * the rate stays within its error. */
static void at_rate(double rate)
{
	struct pace p = { .count = 0 };
	struct tally sum = { 0 };
	double error = rate < CALLS_FEW ? 0.1 + rate / 100 : 1;

	for (unsigned i = 1; i <= 4 * 60; i++) {
		sum.alloc_blocks = (uint64_t)(rate * i / 4);
		sum.alloc_bytes = 40 * sum.alloc_blocks;
		pace_add(&p, i * (SECOND / 4), &sum);
		CHECK(i < 5 || p.known);
		CHECK(i < 4 * 20 || (p.calls_rate >= rate - error && p.calls_rate <= rate + error));
		CHECK(i < 4 * 20 ||
		      (p.bytes_rate >= 40 * (rate - error) && p.bytes_rate <= 40 * (rate + error)));
	}
}

TEST(known_rates)
{
	static const double rates[] = { 0, 0.1, 0.5, 0.9, 3, 8.5, 20, 1000, 1000000 };

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		at_rate(rates[i]);
}

TEST(begins_again)
{
	struct pace p = { .count = 0 };
	struct tally sum = { .alloc_blocks = 100, .alloc_bytes = 4000 };

	pace_add(&p, 10 * SECOND, &sum);
	CHECK(!p.known);
	sum.alloc_blocks += 3;
	pace_add(&p, 11 * SECOND, &sum);
	CHECK(p.known && p.calls_rate == 3);
	pace_add(&p, 30 * SECOND, &sum); /* a gap */
	CHECK(!p.known);
	pace_add(&p, 31 * SECOND, &sum);
	CHECK(p.known && p.calls_rate == 0);
	pace_add(&p, 20 * SECOND, &sum); /* an earlier instant */
	CHECK(!p.known);
	pace_add(&p, 21 * SECOND, &sum);
	sum.alloc_blocks = 1; /* another program's */
	pace_add(&p, 22 * SECOND, &sum);
	CHECK(!p.known);
}
