/* SPDX-License-Identifier: MIT
 *
 * graph.h - curves over time from the session's history. Main thread, while the terminal is on.
 *
 * A column shows the time between its edges; it is empty where the history has no point. Rates are
 * differences of cumulative counters, so a column is the true mean of its time however coarse the
 * points are.
 */
#ifndef GRAPH_H
#define GRAPH_H

#include "screen/draw.h"
#include "widgets/figures.h"
#include "screen/keys.h"

/* The part of the session that graphs show. */
struct graph_time {
	uint64_t window_ns; /* up to now; 0 = fits itself to the session */
	uint64_t at_ns;     /* the cursor, session time; 0 = now */
};
uint64_t graph_window(const struct figures *f, const struct graph_time *t);
/* Requests of the focus GRAPH: change the window or the instant (`now`: watch_now()). False =
 * another action. */
bool graph_action(const struct figures *f, struct graph_time *t, const struct model *now,
		  enum action r);
/* A window; a time of the session, and how long ago it was: with milliseconds where the session or
 * the window is short. All return out, 32 bytes. */
char *graph_span(char *out, uint64_t window);
char *graph_clock(char *out, const struct figures *f, const struct graph_time *t, uint64_t time_ns);
char *graph_ago(char *out, const struct figures *f, const struct graph_time *t, uint64_t ns);
/* The cursor's point; SIZE_MAX = now. */
size_t graph_instant(const struct figures *f, const struct graph_time *t);

enum graph_rate { GRAPH_ALLOC, GRAPH_FREE };

/* The caption of graph_owners(); `focus`: with its keys. Returns out. */
char *graph_title(char *out, size_t size, const struct figures *f, const struct graph_time *t,
		  bool focus);
/* Calls per second: now, or around the cursor's instant. NAN: not known. */
double graph_rate_at(const struct figures *f, const struct graph_time *t, enum graph_rate which);

/* Live bytes by owner as stacked bands, with a legend where there is room. */
void graph_owners(const struct area *a, const struct figures *f, const struct graph_time *t);

/* Calls per second, filled from below, with its scale and `label`. */
void graph_rate(const struct area *a, const struct figures *f, const struct graph_time *t,
		enum graph_rate which, enum role r, const char *label);
/* A line of eighths; values oldest first, scaled between their least and largest. */
void graph_spark(const struct area *a, int y, int x, int w, enum role r, const uint64_t *values,
		 size_t count);
/* Live bytes of the window in one line, marks in it. */
void graph_strip(const struct area *a, int y, int x, int w, const struct figures *f,
		 const struct graph_time *t);
/* "-10m      -5m   m1   now" under a graph; a mark's name goes before a time. */
void graph_axis(const struct area *a, int y, int x, int w, const struct figures *f,
		const struct graph_time *t, bool marks);

#endif
