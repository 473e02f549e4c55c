/* SPDX-License-Identifier: MIT
 *
 * test_line.c - the rate of a process without a view of its own, of which only the board tells.
 */
#include "check.h"
#include "processes/line.h"

#define SECOND UINT64_C(1000000000)
#define MIB UINT64_C(1048576)

static struct line running(void)
{
	struct line l = { .stamp_ns = 1 };

	l.p.state = PROCESS_RUNNING;
	return l;
}

static void allocate(struct line *l, uint64_t second, uint64_t bytes)
{
	l->p.sum.alloc_bytes += bytes;
	line_measure(l, second * SECOND);
}

/* As all rates: of the last ten seconds, and of less in the first ones. */
TEST(a_rate_is_of_ten_seconds)
{
	struct line l = running();

	allocate(&l, 1, 7 * MIB);
	CHECK(l.p.rate == 0);
	allocate(&l, 2, 3 * MIB);
	CHECK(l.p.rate == 3 * MIB);
	allocate(&l, 3, MIB);
	CHECK(l.p.rate == 2 * MIB);
	for (uint64_t i = 4; i <= 12; i++)
		allocate(&l, i, 0);
	CHECK(l.p.rate == 0.1 * MIB); /* of the tenth second before */
	allocate(&l, 13, 0);
	CHECK(l.p.rate == 0);
	line_rest(&l);
}
