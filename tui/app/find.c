/* SPDX-License-Identifier: MIT
 *
 * find.c - see app/app.h.
 *
 * Every letter typed starts a search and selects the first hit. While the prompt is open and there
 * is no hit, or names are pending, the search repeats: the row may arrive later. A repeated search
 * moves the selection only if there was no hit before, and never after Enter. Rows of the tree have
 * their hits with the next answer.
 */
#include "app/app.h"

#define AGAIN_NS 1000000000ull

static unsigned select_hit(const struct find *f, struct view *v)
{
	return f->selects ? v->ops->next_hit(v, f->which) : 0;
}

static void count(struct find *f, struct view *v, long hits)
{
	f->hits = hits;
	if (!hits && f->selects && f->which != HIT_FIRST)
		status_error("no hit for \"%s\"", v->ui->shown.search);
}

unsigned find_look(struct find *f, struct view *v, bool selects, enum hit which)
{
	long hits = v->ops->search(v, v->ui->shown.search, &f->pending);

	f->looked_ns = now_ns();
	f->selects = selects;
	f->which = which;
	f->coming = hits == HITS_COME;
	if (!f->coming)
		count(f, v, hits);
	return VIEW_REFRESH | (f->coming || hits > 0 ? select_hit(f, v) : 0);
}

void find_found(struct find *f, struct view *v, size_t hits, size_t pending)
{
	if (!f->coming)
		return;
	f->coming = false;
	f->pending = pending;
	count(f, v, (long)hits);
	if (f->tells)
		find_say(f);
}

void find_say(struct find *f)
{
	const char *s = format_s((uint64_t)f->hits);

	f->tells = f->coming;
	if (f->coming)
		return;
	if (f->pending)
		status_say("%ld hit%s, %zu name%s pending; n next, N previous", f->hits, s,
			   f->pending, format_s(f->pending));
	else
		status_say("%ld hit%s; n next, N previous", f->hits, s);
}

void find_forget(struct find *f, struct ui *ui)
{
	ui->shown.search[0] = 0;
	f->hits = HITS_NONE;
	f->coming = f->tells = false;
}

unsigned find_anew(struct find *f, struct view *v)
{
	if (!find_on(f, v->ui))
		return 0;
	v->ops->search(v, "", &f->pending);
	return find_look(f, v, false, HIT_FIRST);
}

unsigned find_follow(struct find *f, struct view *v, bool newer)
{
	if (!f->typing || !find_on(f, v->ui) || f->coming || (f->hits && !f->pending) ||
	    !v->ops->search || (!newer && now_ns() - f->looked_ns < AGAIN_NS))
		return 0;
	return find_look(f, v, !(f->hits > 0), HIT_FIRST);
}
