/* SPDX-License-Identifier: MIT
 *
 * find.h - the search (ui.shown.search) in the view or page in front. A long search runs in slices,
 * and repeats while names and rows still arrive. app/search.c owns the prompt. Main thread.
 */
#ifndef FIND_H
#define FIND_H

#include "views/ui.h"

struct find {
	long hits;          /* -1 = no search */
	size_t pending;     /* unresolved names */
	bool typing;        /* the prompt is open */
	bool due;           /* slices are left to search */
	bool counts;        /* this search only counts hits; the selection stays */
	bool hit_due;       /* select the first hit once the rows are complete */
	uint64_t looked_ns; /* time of the last search */
};

/* v: the view or page in front. */
void find_look(struct find *f, struct view *v);
void find_anew(struct find *f, struct view *v); /* the rows' meaning changed */
/* After a refresh: the typed text may match new rows. */
void find_follow(struct find *f, struct view *v);
/* Runs one slice; needs a refreshed view. */
void find_go_on(struct find *f, struct view *v);
/* Ends the search without redrawing the view's hits. */
void find_forget(struct find *f, struct ui *ui);

static inline bool find_on(const struct find *f, const struct ui *ui) /* rows may be hits */
{
	return ui->shown.search[0] && f->hits >= 0;
}
static inline bool find_busy(const struct find *f) /* slices are left */
{
	return f->due || f->hit_due;
}
/* Another view or page comes to the front: drop an unfinished search. */
static inline void find_leave(struct find *f)
{
	f->due = f->hit_due = false;
}

#endif
