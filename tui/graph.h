/* SPDX-License-Identifier: MIT
 *
 * graph.h - curves over time from the session's history. Main thread, while the terminal is on.
 *
 * A column shows the time from its left edge to its right one; where the history has no point yet
 * nothing is drawn. Rates are differences of cumulative counters, so a column is the true mean of
 * its time however coarse the points are.
 */
#ifndef GRAPH_H
#define GRAPH_H

#include "draw.h"
#include "figures.h"

/* The time that graphs show: window 0 fits the session (1 min and more). */
uint64_t graph_window(const struct figures *f, uint64_t window_ns);
/* The next longer (step 1) or shorter (-1) window. */
uint64_t graph_zoom(const struct figures *f, uint64_t window_ns, int step);

/* Live bytes by owner as stacked bands, with a legend where there is room. */
void graph_owners(const struct area *a, const struct figures *f, uint64_t window_ns);

enum graph_rate { GRAPH_ALLOC, GRAPH_FREE };
/* Calls per second, filled from below, with its scale and `label`. */
void graph_rate(const struct area *a, const struct figures *f, uint64_t window_ns,
		enum graph_rate which, enum role r, const char *label);
/* A line of eighths; values oldest first, scaled between their least and largest. */
void graph_spark(const struct area *a, int y, int x, int w, enum role r, const uint64_t *values,
		 size_t count);
/* Live bytes of the window in one line, marks in it. */
void graph_strip(const struct area *a, int y, int x, int w, const struct figures *f,
		 uint64_t window_ns);
/* "-10m      -5m   m1   now" under a graph; a mark's name goes before a time. */
void graph_axis(const struct area *a, int y, int x, int w, const struct figures *f,
		uint64_t window_ns, bool marks);

#endif
