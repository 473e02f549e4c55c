/* SPDX-License-Identifier: MIT
 *
 * front.c - brings a view or page to the front, refreshes it, and acts on the bits that its
 * handlers return.
 */
#include "app/app.h"

#include "base/loop.h"
#include "views/ages.h"

void front_rows(struct app *a, bool resort)
{
	struct view *v = a->front.views[a->front.current];

	if (v->ops->refresh)
		v->ops->refresh(v, resort);
	if (a->page && a->page->ops->refresh)
		a->page->ops->refresh(a->page, resort);
}

void front_refresh(struct app *a, bool resort)
{
	uint64_t start = now_ns();

	a->ui.moved = a->timing.due = false;
	/* an instant on the way to another is not shown */
	if (!travel_under_way(&a->front.travel) || !a->ui.shown.figures.taken_ns)
		figures_take(&a->ui.shown.figures, a->ui.shown.watch, a->ui.shown.owners,
			     travel_owners(&a->front.travel, &a->ui.shown));
	others_take(&a->ui.others, a->ui.processes, a->ui.shown.watch);
	if (a->ui.shown.time.at_ns > a->ui.shown.figures.time_ns)
		a->ui.shown.time.at_ns = 0; /* an exec restarted the time */
	struct view *v = a->front.views[a->front.current];
	if (query_by_cohort(a->ui.shown.query) && !v->ops->no_filter)
		ages_ask(&a->ui);
	front_rows(a, resort);
	if (resort)
		a->timing.sort_ns = now_ns();
	a->timing.unsorted = !resort;
	query_verdict(a->ui.shown.query, &a->ui.shown.figures.verdict);
	a->timing.refresh_cost_ns = now_ns() - start;
}

void front_act(struct app *a, unsigned bits)
{
	if (bits & VIEW_ANEW)
		find_anew(&a->front.find, front_view(a));
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
	a->front.find.hits = -1;
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
