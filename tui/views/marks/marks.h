/* SPDX-License-Identifier: MIT
 *
 * marks.h - the Marks view's parts: views/marks/marks.c (keys and drawing), views/marks/rows.c (the
 * marks' rows) and views/marks/sites.c (the changes between the two picked marks). Main thread.
 */
#ifndef MARKS_H
#define MARKS_H

#include "query/query.h"
#include "views/ui.h"

#define MARK_NOW UINT32_MAX /* the last row; id 0 is the start */
#define MARK_INTERVALS 4    /* columns for the newest intervals */

struct mark_row {
	struct amounts amounts; /* first; the change is from the row above */
	uint32_t id, before;
	char name[80], by[80];
	uint64_t time_ns, rss_bytes;
	bool by_slot; /* its live amounts are known by slot */
};

struct marks {
	struct view v;
	struct list list;
	struct mark_row *rows, *old; /* owned; old: of the last refresh */
	size_t count, room, old_count;
	uint32_t a, b;       /* ids of the compared marks, a before b */
	bool picked, pick_b; /* the user picked; the next pick is B */
	/* the last row's change: when counted, of which instant (watch_instant()), at what cost */
	uint64_t counted_ns, counted_at, count_cost_ns;
	const struct change *changes_of; /* query_marks() of the refresh */
	uint32_t asked;                  /* the mark in the open question */

	struct list lower;
	const struct interval_row *changes; /* the query's, until the next query_intervals() */
	size_t change_count, interval_count;
	bool lower_focus, has_lower;
};

/* For the app. */
void view_marks_pick(struct view *v);

/* For the view's own files. */
char *marks_label(uint32_t id, char *out); /* "start", "m2", "now"; out[32] */
void marks_gather(struct marks *m);        /* rebuilds the rows */
void marks_lower_refresh(struct marks *m, bool resort);
void marks_lower_draw(struct marks *m, const struct area *a);
unsigned marks_lower_action(struct marks *m, enum action r);

#endif
