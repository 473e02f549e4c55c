/* SPDX-License-Identifier: MIT
 *
 * travel.h - back in time: where the graphs' cursor stands, every view shows that instant. Main
 * thread.
 *
 * The cursor (app->time.at_ns) moves at once; the session is played to it in slices of the loop,
 * and what was shown before stays until the arrival. On the way it stops every few seconds of the
 * session's time, and looks: what sites churn and how long their blocks live (query_churn.c), and
 * in a file what libraries held over time, are of looks. Growth, shapes and the verdict need no
 * stops: they are of the agent's samples.
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
/* The query is whole, for the next look. True: it was asked, so that rows that lie in it moved. */
bool travel_go_on(struct travel *t, struct shown *of);
void travel_release(struct travel *t);
/* A file: it is looked at once, to its end. */
void travel_read(struct travel *t, struct shown *of);
bool travel_under_way(const struct travel *t);
struct owners *travel_owners(const struct travel *t,
			     const struct shown *of); /* whose history the graphs show */
/* "0:12:09", "-2m", a mark, "now": the command :at. */
int travel_command(struct shown *of, const char *text);

#endif
