/* SPDX-License-Identifier: MIT
 *
 * graph_part.h - the graphs' internal header, for graph*.c and their tests: widgets/graph.c has the
 * time range, widgets/graph_owners.c the bands, widgets/graph_rate.c the curves of rates. Session
 * time, ns.
 */
#ifndef GRAPH_PART_H
#define GRAPH_PART_H

#include "widgets/graph.h"

#define GRAPH_SCALE_WIDTH 7
#define GRAPH_CURSOR_STEPS 60 /* steps of the cursor across the window */

/* Times of column x of w: (left, right]; false when it lies before the start. */
bool graph_column_time(const struct figures *f, uint64_t window, int x, int w, uint64_t *left,
		       uint64_t *right);
/* Which of w columns the time falls in; may be below 0, or w and more. */
int graph_column_of(const struct figures *f, uint64_t time_ns, int w, uint64_t window);
/* The window's first point; SIZE_MAX = no point is as old. */
size_t graph_window_start(const struct figures *f, const struct graph_time *t);
/* Is it known how much each library held at point `first`? SIZE_MAX: the first point's answer, or
 * true without points. */
bool graph_start_known(const struct figures *f, size_t first);
/* Smallest round number that is not below v: one or two digits in units of the base. */
double graph_round_up(double v, double base);
/* Mean calls per second of column x of n. Columns end at multiples of their length, so that one
 * keeps its height while it moves left; the last one ends now. Time before the start counts as time
 * without calls: otherwise a start-up burst in a narrow part of a column would look like a steady
 * rate. */
double graph_rate_column(const struct figures *f, uint64_t window, int x, int n,
			 enum graph_rate which);

#endif
