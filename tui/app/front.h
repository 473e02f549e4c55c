/* SPDX-License-Identifier: MIT
 *
 * front.h - brings a view or page to the front, refreshes it in slices, and acts on what its
 * handlers return. Main thread.
 */
#ifndef FRONT_H
#define FRONT_H

#include "app/find.h"
#include "app/travel.h"
#include "link/budget.h"

struct app;
struct loop_source;

/* The shown process's state that views do not see (they see struct shown). */
struct front {
	struct view *views[VIEW_COUNT]; /* NULL: not in this session */
	enum view_id current;
	struct find find;
	struct travel travel; /* replays to the graphs' cursor */
	struct budget budget; /* --max-overhead */
};

/* Times of the last key, sort, ...: now_ns(). */
struct timing {
	uint64_t key_ns, sort_ns, view_ns;
	uint64_t refresh_cost_ns; /* of the last refresh: a huge tree is queried less often */
	bool due;                 /* refresh without waiting for the next turn */
	bool unsorted;            /* rows were refreshed since they were sorted */
};

/* Slices of a rebuild; ui.building is its progress. */
struct building {
	size_t fixed_steps; /* steps per slice, for tests (MEMTOP_TEST_STEPS); 0 = as many as fit */
	bool rows_whole;    /* the rows on screen were complete at the last refresh */
	bool working;       /* something is incomplete; the verdict counts */
	bool resort_due;    /* sort once complete */
	uint64_t since_ns;  /* start of the rebuild */
	struct loop_source *go_on;
};

void front_begin(struct app *a);                /* begins a slice */
void front_end(struct app *a);                  /* ends it; schedules the next if work is left */
void front_go_on(struct app *a);                /* runs the next slice */
void front_refresh(struct app *a, bool resort); /* query again (does not draw) */
/* Rows are borrowed from the query: fetches them again, after any other use of it and before a
 * draw. */
void front_rows(struct app *a, bool resort);
void front_act(struct app *a, unsigned bits);      /* acts on a handler's bits */
void front_show(struct app *a, enum view_id v);    /* bring a view to the front */
void front_open(struct app *a, struct view *page); /* takes it */
void front_close(struct app *a);                   /* the page */

#endif
