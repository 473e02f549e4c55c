/* SPDX-License-Identifier: MIT
 *
 * find.c - see app/app.h.
 *
 * Every letter typed starts a search and selects the first hit. While the prompt is open and there
 * is no hit, or names are pending, the search repeats: the row may arrive later. A repeated search
 * moves the selection only if there was no hit before, and never after Enter.
 */
#include "app/app.h"

#define AGAIN_NS 1000000000ull

void find_look(struct find *f, struct view *v)
{
	f->looked_ns = now_ns();
	f->hits = v->ops->search(v, v->ui->shown.search, &f->pending);
}

void find_forget(struct find *f, struct ui *ui)
{
	f->counts = false;
	ui->shown.search[0] = 0;
	f->hits = -1;
}

void find_anew(struct find *f, struct view *v)
{
	if (!find_on(f, v->ui))
		return;
	v->ops->search(v, "", &f->pending);
	find_look(f, v);
	f->counts = true;
}

void find_follow(struct find *f, struct view *v, bool newer)
{
	if (!f->typing || !find_on(f, v->ui) || (f->hits && !f->pending) || !v->ops->search ||
	    (!newer && now_ns() - f->looked_ns < AGAIN_NS))
		return;
	f->counts = f->hits > 0;
	find_look(f, v);
	if (v->ops->refresh)
		v->ops->refresh(v, false);
	if (!f->counts && f->hits > 0)
		v->ops->next_hit(v, false);
}
