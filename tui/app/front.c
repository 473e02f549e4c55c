/* SPDX-License-Identifier: MIT
 *
 * front.c - brings a view or page to the front, refreshes it, and acts on the bits that its
 * handlers return.
 */
#include "app/app.h"

void front_rows(struct app *a, bool resort)
{
	asker_ask(a, false, resort);
}

void front_refresh(struct app *a, bool resort)
{
	asker_ask(a, true, resort);
}

void front_act(struct app *a, unsigned bits)
{
	if (bits & VIEW_ANEW)
		bits |= find_anew(&a->front.find, front_view(a));
	if (bits & VIEW_CLOSE)
		front_close(a);
	if (bits & (VIEW_REFRESH | VIEW_RESORT) || (bits & VIEW_CLOSE && !a->ui.paused))
		front_refresh(a, bits & VIEW_RESORT);
}

void front_show(struct app *a, enum view_id v)
{
	if (!a->front.views[v])
		return;
	front_close(a);
	a->front.current = v;
	if (a->front.views[v]->ops->enter)
		a->front.views[v]->ops->enter(a->front.views[v]);
	a->front.find.hits = HITS_NONE;
	a->front.find.coming = false;
	front_refresh(a, true);
}

static void view_free(struct view *v)
{
	if (v)
		v->ops->free(v);
}

void front_open(struct app *a, struct view *page)
{
	view_free(a->page);
	a->page = page;
	if (page->ops->refresh)
		page->ops->refresh(page, true);
}

void front_close(struct app *a)
{
	view_free(a->page);
	a->page = NULL;
}
