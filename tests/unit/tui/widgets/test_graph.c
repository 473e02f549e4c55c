/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "widgets/graph_part.h"

#define MS 1000000ull
#define COLUMNS 62
#define WINDOW (300000 * MS)

/* A start-up of 100,000 calls in 50 ms, then one call in 100 ms. */
static size_t story(struct point *p, uint64_t end_ms)
{
	size_t n = 0;

	p[n++] = (struct point){ .time_ns = 0 };
	p[n++] = (struct point){ .time_ns = 50 * MS, .alloc_blocks = 100000 };
	for (uint64_t ms = 100; ms <= end_ms; ms += 100, n++)
		p[n] = (struct point){ .time_ns = ms * MS, .alloc_blocks = 100000 + ms / 100 };
	return n;
}

static double most(const struct figures *f, double *sum)
{
	double most = 0;

	*sum = 0;
	for (int x = 0; x < COLUMNS; x++) {
		double v = graph_rate_column(f, WINDOW, x, COLUMNS, GRAPH_ALLOC);
		most = v > most ? v : most;
		*sum += x < COLUMNS - 1 ? v : 0;
	}
	return most;
}

TEST(a_burst_at_the_start_keeps_its_height_while_time_goes_on)
{
	static struct point points[2600];
	struct figures f = { .points = points };
	double length = (double)WINDOW / COLUMNS / 1e9, sum;

	for (uint64_t ms = 20000; ms < 250000; ms += 700) {
		f.point_count = story(points, ms);
		f.time_ns = points[f.point_count - 1].time_ns;
		double height = most(&f, &sum) * length;
		/* its calls over one column's time */
		CHECK(height > 100000 && height < 100000 + length * 10 + 2);
		/* whole columns hold all calls up to where the last of them ends */
		double whole = (double)f.time_ns / 1e9 - length;
		CHECK(sum * length >= 100000 + (whole - 0.1) * 10 &&
		      sum * length <= 100000 + (double)f.time_ns / 1e8 + 1);
	}
}

TEST(a_program_of_milliseconds_has_the_rate_of_its_life)
{
	struct point points[2] = { { .time_ns = 1 * MS },
				   { .time_ns = 8 * MS, .alloc_blocks = 800 } };
	struct figures f = { .points = points, .point_count = 2, .time_ns = 8 * MS };
	double sum, v = most(&f, &sum);

	CHECK(v > 99999 && v < 100001 && sum == 0);
}

TEST(the_last_column_is_of_the_time_up_to_now)
{
	static struct point points[2600];
	struct figures f = { .points = points };

	f.point_count = story(points, 123400);
	f.time_ns = points[f.point_count - 1].time_ns;
	double v = graph_rate_column(&f, WINDOW, COLUMNS - 1, COLUMNS, GRAPH_ALLOC);
	CHECK(v > 9.99 && v < 10.01);
	CHECK(graph_rate_column(&f, WINDOW, 0, COLUMNS, GRAPH_ALLOC) == 0); /* before the start */
}
