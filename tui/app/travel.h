/* SPDX-License-Identifier: MIT
 *
 * travel.h - time travel: every view shows the instant of the graphs' cursor. Main thread.
 *
 * The cursor (app->time.at_ns) moves at once; the loop plays the session to it in slices, and the
 * previous instant stays on screen until then. The replay stops every few seconds of session time
 * to take samples: churn and block lifetimes (query_churn.c) come from them, and in a file the
 * libraries' memory over time. Growth, shapes and the verdict need no stops: they come from the
 * agent's samples.
 */
#ifndef TRAVEL_H
#define TRAVEL_H

#include "views/ui.h"

struct travel {
	uint64_t to_ns;            /* on the way there, session time; 0 = not on a way */
	uint64_t wanted_ns;        /* the cursor, as it was when it was followed last */
	uint64_t stop_ns, step_ns; /* the next stop, and how far from each other they are */
	bool looking;              /* at a stop: what looks are for is not whole yet */
	bool home;                 /* then back: only the looks are wanted */
	/* of what is now, while the past is shown; NULL = those of what is shown are */
	struct owners *graphed;
};

void travel_follow(struct travel *t, struct shown *of);  /* the cursor may have moved */
void travel_arrived(struct travel *t, struct shown *of); /* WATCH_INSTANT */
void travel_go_on(struct travel *t, struct shown *of);   /* what was being made anew is whole */
void travel_release(struct travel *t);
/* A file: it is looked at once, to its end. */
void travel_read(struct travel *t, struct shown *of);
bool travel_under_way(const struct travel *t);
struct owners *travel_owners(const struct travel *t,
			     const struct shown *of); /* whose history the graphs show */
/* "0:12:09", "-2m", a mark, "now": the command :at. */
int travel_command(struct shown *of, const char *text);

#endif
