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
	struct mark_row *rows, *next; /* owned; next: of the answer under way */
	size_t count, room, next_count, next_room;
	uint32_t a, b;       /* ids of the compared marks, a before b */
	bool picked, pick_b; /* the user picked; the next pick is B */
	uint32_t asked;      /* the mark in the open question */

	struct list lower;
	struct intervals_kept changes, made; /* made: of the answer under way */
	uint32_t from, to;                   /* ... between these; to 0 = now */
	size_t interval_count;
	bool lower_focus, has_lower;
};

/* For the app. */
void view_marks_pick(struct view *v);

/* For the view's own files. */
char *marks_label(uint32_t id, char *out); /* "start", "m2", "now"; out[32] */
bool marks_is_there(const struct mark_row *rows, size_t count, uint32_t id);
void marks_rows_ask(struct marks *m); /* what the session says of its marks */
void marks_rows_make(struct marks *m);
void marks_rows_take(struct marks *m);
void marks_lower_take(struct marks *m);
void marks_lower_draw(struct marks *m, const struct area *a);
unsigned marks_lower_action(struct marks *m, enum action r);

#endif
