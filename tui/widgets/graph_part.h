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
#define GRAPH_CURSOR_STEPS 60 /* of the cursor through the window */

/* Times of column x of w: (left, right]; false when it lies before the start. */
bool graph_column_time(const struct figures *f, uint64_t window, int x, int w, uint64_t *left,
		       uint64_t *right);
/* The column, of w, that a time lies in; it may be outside. */
int graph_column_of(const struct figures *f, uint64_t time_ns, int w, uint64_t window);
/* The point that the window begins with; SIZE_MAX = none is as old. */
size_t graph_window_start(const struct figures *f, const struct graph_time *t);
/* Of whom what was live then was. Before all points nobody held anything. */
bool graph_start_known(const struct figures *f, size_t first);
/* Smallest round number that is not below v: one or two digits in units of the base. */
double graph_round_up(double v, double base);
/* Mean calls per second of column x of n. Columns end at multiples of their length, so that one
   keeps its height while it moves to the left; the last one is of the time up to now. What lies
   before the start counts as time without calls: else a sliver of a column would show the burst of
   a start-up as a rate that held. */
double graph_rate_column(const struct figures *f, uint64_t window, int x, int n,
			 enum graph_rate which);

#endif
