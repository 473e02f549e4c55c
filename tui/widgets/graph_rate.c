/* SPDX-License-Identifier: MIT
 *
 * graph_rate.c - calls per second as a filled curve. In UTF-8 it has four steps a row and two
 * columns a cell (braille); in ASCII one column a cell and three steps.
 */
#include "widgets/graph_part.h"

#include <math.h>
#include <string.h>

#define COLUMNS_MAX 512

/* A cumulative counter at a time, between two points on the straight line. */
static double counter_at(const struct figures *f, uint64_t t, enum graph_rate which)
{
	size_t i = figures_point_at(f, t);
#define COUNTER(n)                                                                                 \
	(double)(which == GRAPH_ALLOC ? f->points[n].alloc_blocks : f->points[n].free_blocks)

	if (i == SIZE_MAX)
		return f->point_count ? COUNTER(0) * (double)t / (double)(f->points[0].time_ns + 1)
				      : 0;
	if (i + 1 >= f->point_count)
		return COUNTER(i);
	double span = (double)(f->points[i + 1].time_ns - f->points[i].time_ns);
	double part = span > 0 ? (double)(t - f->points[i].time_ns) / span : 0;
	return COUNTER(i) + part * (COUNTER(i + 1) - COUNTER(i));
#undef COUNTER
}

double graph_rate_at(const struct figures *f, const struct graph_time *t, enum graph_rate which)
{
	uint64_t right = t->at_ns, length = graph_window(f, t) / GRAPH_CURSOR_STEPS;

	if (graph_instant(f, t) == SIZE_MAX && !figures_rated(f))
		return NAN;
	if (graph_instant(f, t) == SIZE_MAX)
		return which == GRAPH_ALLOC ? f->rates.alloc_blocks : f->rates.free_blocks;
	uint64_t left = right > length ? right - length : 0;
	return right > left ? (counter_at(f, right, which) - counter_at(f, left, which)) * 1e9 /
				      (double)(right - left)
			    : 0;
}

/* Fills one column's cell row by row: value 0..1 of the height. Two make one braille cell. */
static void fill_cell(const struct area *a, int y0, int x, int h, enum role r, double left,
		      double right)
{
	static const unsigned dots[2][4] = { { 0x40, 0x04, 0x02, 0x01 },
					     { 0x80, 0x20, 0x10, 0x08 } };
	int steps = text_ascii() ? 3 : 4;
	long l = isnan(left) ? 0 : lround(left * h * steps),
	     rr = isnan(right) ? 0 : lround(right * h * steps);

	for (int row = 0; row < h; row++) { /* row 0 is the lowest */
		long in_l = l - (long)row * steps, in_r = rr - (long)row * steps;
		char out[8] = "";
		if (text_ascii()) {
			long n = in_l > in_r ? in_l : in_r;
			snprintf(out, sizeof out, "%s",
				 n >= 3   ? "#"
				 : n == 2 ? ":"
				 : n == 1 ? "."
					  : "");
		} else {
			unsigned bits = 0;
			for (long i = 0; i < 4; i++)
				bits |= (in_l > i ? dots[0][i] : 0) | (in_r > i ? dots[1][i] : 0);
			unsigned c = 0x2800 + bits;
			if (bits)
				snprintf(out, sizeof out, "%c%c%c", 0xe0 | (int)(c >> 12),
					 0x80 | (int)(c >> 6 & 0x3f), 0x80 | (int)(c & 0x3f));
		}
		if (*out)
			draw_text(a, y0 + h - 1 - row, x, r, out);
	}
}

double graph_rate_column(const struct figures *f, uint64_t window, int x, int n,
			 enum graph_rate which)
{
	double length = (double)window / n, whole = floor((double)f->time_ns / length) * length;
	double right = x == n - 1 ? (double)f->time_ns : whole - (n - 2 - x) * length,
	       left = right - length;

	if (right <= 0)
		return 0;
	/* Counts from the program's start, as the rate written beside the graph does. */
	left = left < 0 ? 0 : left;
	return (counter_at(f, (uint64_t)right, which) - counter_at(f, (uint64_t)left, which)) *
	       1e9 / (right - left);
}

void graph_rate(const struct area *a, const struct figures *f, const struct graph_time *t,
		enum graph_rate which, enum role r, const char *label)
{
	uint64_t window = graph_window(f, t);
	int w = a->w - GRAPH_SCALE_WIDTH, n = 2 * w;
	double values[2 * COLUMNS_MAX], most = 0;
	char number[32];

	if (w < 4 || w > COLUMNS_MAX || a->h < 1)
		return;
	memset(values, 0, sizeof values);
	for (int i = 0; i < n && f->point_count; i++) {
		values[i] = graph_rate_column(f, window, i, n, which);
		most = values[i] > most ? values[i] : most;
	}
	most = graph_round_up(most < 10 ? 10 : most, 1000);
	for (int x = 0; x < w; x++)
		fill_cell(a, 0, GRAPH_SCALE_WIDTH + x, a->h, r, values[2 * x] / most,
			  values[2 * x + 1] / most);
	draw_right(a, 0, 0, GRAPH_SCALE_WIDTH - 1, ROLE_DIM, text_short(number, most));
	if (a->h > 2)
		draw_right(a, a->h - 1, 0, GRAPH_SCALE_WIDTH - 1, ROLE_DIM, "0");
	char spaced[64];
	snprintf(spaced, sizeof spaced, " %s", label);
	int at = a->w - text_width(spaced);
	draw_text(a, 0, at > GRAPH_SCALE_WIDTH ? at : GRAPH_SCALE_WIDTH, r, spaced);
}
