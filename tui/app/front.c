/* SPDX-License-Identifier: MIT
 *
 * front.c - brings a view or page to the front, refreshes it, and acts on the bits that its
 * handlers return.
 *
 * The rows of a huge tree are rebuilt in slices of some milliseconds (query/query.h), so that keys
 * are handled in between. Each key and each refresh runs one slice; a timer that fires at once runs
 * the next until the rows are complete. Until then the old rows stay, and the tabs show the
 * progress.
 */
#include "app/app.h"

#include "base/loop.h"
#include "views/ages.h"

#define MS 1000000ull
#define SLICE_NS (8 * MS)

/* --- slices */

void front_begin(struct app *a)
{
	if (a->building.fixed_steps)
		query_allow(a->ui.shown.query, a->building.fixed_steps);
	else
		query_allow_until(a->ui.shown.query, now_ns() + SLICE_NS);
}

void front_end(struct app *a)
{
	bool was = a->ui.building >= 0;
	int left = query_building(a->ui.shown.query);

	if (left < 0 && !a->ui.shown.figures.owners_whole)
		a->ui.moved = a->timing.due = true;                 /* owners are complete now */
	a->ui.building = find_busy(&a->front.find) && left < 0 ? 99 /* the search is left to do */
			 : a->building.rows_whole              ? -1
							       : left;
	/* a key's own slice says nothing of what was under way before it */
	a->building.working = left >= 0 || a->ui.building >= 0 || !a->building.rows_whole ||
			      travel_looks(&a->front.travel);
	if (a->ui.building >= 0)
		a->building.since_ns = was ? a->building.since_ns : now_ns();
	if (a->building.working)
		loop_timer_set(a->building.go_on, 0);
}

/* What is on the screen first. */
static void go_on_with_rest(struct app *a)
{
	a->building.rows_whole = query_building(a->ui.shown.query) < 0;
	if (a->building.rows_whole)
		query_verdict(a->ui.shown.query, &a->ui.shown.figures.verdict);
}

void front_rows(struct app *a, bool resort)
{
	struct view *v = a->front.views[a->front.current];

	if (v->ops->refresh)
		v->ops->refresh(v, resort);
	if (a->page && a->page->ops->refresh)
		a->page->ops->refresh(a->page, resort);
}

/* The next slice of what was left. */
void front_go_on(struct app *a)
{
	front_begin(a);
	front_rows(a, a->building.resort_due);
	find_go_on(&a->front.find, front_view(a));
	go_on_with_rest(a);
	if (query_building(a->ui.shown.query) < 0 && travel_go_on(&a->front.travel, &a->ui.shown))
		front_rows(a, false);
	front_end(a);
	if (a->ui.building < 0)
		a->building.resort_due = false;
}

void front_refresh(struct app *a, bool resort)
{
	uint64_t start = now_ns();

	a->ui.moved = a->timing.due = false;
	/* an instant on the way to another is not shown */
	if (!travel_under_way(&a->front.travel) || !a->ui.shown.figures.taken_ns)
		figures_take(&a->ui.shown.figures, a->ui.shown.watch, a->ui.shown.owners,
			     travel_owners(&a->front.travel, &a->ui.shown), a->ui.shown.query);
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
	a->building.resort_due =
		(a->building.resort_due || resort) && query_building(a->ui.shown.query) >= 0;
	go_on_with_rest(a);
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
	find_leave(&a->front.find);
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
	find_leave(&a->front.find);
	if (page->ops->refresh)
		page->ops->refresh(page, true);
}

void front_close(struct app *a)
{
	find_leave(&a->front.find);
	view_free(a->page);
	a->page = NULL;
}
