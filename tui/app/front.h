/* SPDX-License-Identifier: MIT
 *
 * front.h - the view and the page in front: brought there, refreshed by slices, and what their
 * handlers returned is done. Main thread.
 */
#ifndef FRONT_H
#define FRONT_H

#include "app/find.h"
#include "app/travel.h"
#include "link/budget.h"

struct app;
struct loop_source;

/* Of the process that is shown, beside what views see of it (struct shown). */
struct front {
	struct view *views[VIEW_COUNT]; /* NULL: not in this session */
	enum view_id current;
	struct find find;
	struct travel travel; /* to the instant of the graphs' cursor */
	struct budget budget; /* --max-overhead */
};

/* When what was done last, now_ns(). */
struct timing {
	uint64_t key_ns, sort_ns, view_ns;
	uint64_t refresh_cost_ns; /* of the last refresh: a huge tree is queried less often */
	bool due;                 /* what moved does not wait for its turn */
};

/* Slices of what is being made anew; how far that is: ui.building. */
struct building {
	size_t fixed_steps; /* tests: of every slice (MEMTOP_TEST_STEPS); 0 = as many as fit */
	bool rows_whole;    /* what is on the screen was, as of the last refresh */
	bool working;       /* something is not: the verdict, too */
	bool resort_due;    /* sort when it is */
	uint64_t since_ns;  /* when all of it began */
	struct loop_source *go_on;
};

void front_begin(struct app *a); /* a slice */
void front_end(struct app *a);   /* ... sees what is left, which is gone on with soon */
void front_go_on(struct app *a); /* the next slice of what was left */
void front_refresh(struct app *a, bool resort); /* query again (does not draw) */
/* Rows lie in the query: after anything else asked it, and before a draw, they are fetched again.
 */
void front_rows(struct app *a, bool resort);
void front_act(struct app *a, unsigned bits);      /* what a handler returned */
void front_show(struct app *a, enum view_id v);    /* bring a view to the front */
void front_open(struct app *a, struct view *page); /* takes it */
void front_close(struct app *a);                   /* the page */

#endif
