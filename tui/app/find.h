/* SPDX-License-Identifier: MIT
 *
 * find.h - the search (ui.shown.search) in the view or page in front. A long search runs in slices,
 * and repeats while names and rows still arrive. app/search.c owns the prompt. Main thread.
 */
#ifndef FIND_H
#define FIND_H

#include "views/ui.h"

struct find {
	long hits;          /* -1 = nothing was searched */
	size_t pending;     /* names that are not known yet */
	bool typing;        /* its prompt is open */
	bool due;           /* it goes on, */
	bool counts;        /* only so that hits are right: the selection stays */
	bool hit_due;       /* its first hit is gone to when rows are whole */
	uint64_t looked_ns; /* when it last did */
};

/* v: what is in front. */
void find_look(struct find *f, struct view *v);
void find_anew(struct find *f, struct view *v); /* what a row is has changed */
/* After a refresh: what is typed may be there by now. */
void find_follow(struct find *f, struct view *v);
/* One slice; needs a refreshed view. */
void find_go_on(struct find *f, struct view *v);
/* Nothing is searched for; what v showed as hits is another matter. */
void find_forget(struct find *f, struct ui *ui);

static inline bool find_on(const struct find *f, const struct ui *ui) /* rows may be hits */
{
	return ui->shown.search[0] && f->hits >= 0;
}
static inline bool find_busy(const struct find *f) /* slices are left to take */
{
	return f->due || f->hit_due;
}
/* Another view or page: what was not finished is not. */
static inline void find_leave(struct find *f)
{
	f->due = f->hit_due = false;
}

#endif
