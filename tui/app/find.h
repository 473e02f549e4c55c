/* SPDX-License-Identifier: MIT
 *
 * find.h - the search: typed at the foot of the screen, looked for in the view that is shown, by
 * slices where that takes long, and again while names and rows still arrive. Main thread.
 */
#ifndef FIND_H
#define FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;

struct find {
	char text[256];     /* "" = none */
	long hits;          /* -1 = nothing was searched */
	size_t pending;     /* names that are not known yet */
	bool typing;        /* its prompt is open */
	bool due;           /* it goes on, */
	bool counts;        /* only so that hits are right: the selection stays */
	bool hit_due;       /* its first hit is gone to when rows are whole */
	uint64_t looked_ns; /* when it last did */
};

unsigned find_begin(struct app *a); /* the prompt */
unsigned find_next(struct app *a, bool backwards);
unsigned find_end(struct app *a);   /* Esc: no row is a hit any more */
bool find_on(const struct find *f); /* rows may be hits */
void find_leave(struct app *a);     /* another view or page: what was not finished is not */
void find_anew(struct app *a);      /* what a row is has changed */
/* After a refresh: what is typed may be there by now. */
void find_follow(struct app *a);
/* One slice; needs a refreshed view. */
void find_go_on(struct app *a);
bool find_busy(const struct find *f); /* slices are left to take */

#endif
