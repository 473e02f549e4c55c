/* SPDX-License-Identifier: MIT
 *
 * travel.h - time travel: every view shows the instant of the graphs' cursor. Main thread.
 *
 * The cursor (app->time.at_ns) moves at once; the loop plays the session to it in slices, and the
 * previous instant stays on screen until then. The replay stops every few seconds of session time
 * to take samples: block lifetimes (query/sites/life.c) come from them, and in a file the
 * libraries' memory over time. Growth, shapes and the verdict need no stops: they come from the
 * agent's samples.
 */
#ifndef TRAVEL_H
#define TRAVEL_H

#include "views/ui.h"

struct travel {
	uint64_t to_ns;            /* target instant, session time; 0 = no replay runs */
	uint64_t wanted_ns;        /* the cursor when last followed */
	uint64_t stop_ns, step_ns; /* next stop; distance between stops */
	bool looking;              /* at a stop: its samples are incomplete */
	bool home;                 /* returns to the present after sampling */
	bool unread;               /* a file, whose reading was interrupted */
	/* the present's owners while the past is shown; NULL = use those on screen */
	struct owners *graphed;
};

void travel_follow(struct travel *t, struct shown *of);  /* the cursor may have moved */
void travel_arrived(struct travel *t, struct shown *of); /* WATCH_INSTANT */
void travel_release(struct travel *t);
/* Samples a file once, from start to end. travel_follow() interrupts that; it begins again when the
 * present is shown. */
void travel_read(struct travel *t, struct shown *of);
void travel_read_on(struct travel *t, struct shown *of); /* the present was drawn again */
bool travel_under_way(const struct travel *t);
struct owners *travel_owners(const struct travel *t,
			     const struct shown *of); /* whose history the graphs show */
/* "0:12:09", "-2m", a mark, "now": the command :at. */
int travel_command(struct shown *of, const char *text);
/* To the heap's peak; from there, back to now. */
void travel_peak(struct shown *of);

#endif
