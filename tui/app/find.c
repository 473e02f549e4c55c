/* SPDX-License-Identifier: MIT
 *
 * find.c - see app/find.h.
 *
 * What is typed is looked for at every letter, and the first hit gone to. While the prompt is open
 * and nothing was found, or names are pending, it is looked for again as the program goes on: the
 * row may not have been there yet. The selection moves only when there was no hit before, and never
 * once Enter was pressed.
 */
#include "app/find.h"

#include "app/actions.h"

#include <string.h>

#define AGAIN_NS 1000000000ull

static void look(struct app *a)
{
	struct find *f = &a->find;

	f->looked_ns = now_ns();
	f->hits = app_view(a)->ops->search(app_view(a), f->text, &f->pending);
}

static void forget(struct find *f)
{
	f->due = f->hit_due = f->counts = false;
	f->text[0] = 0;
	f->hits = -1;
}

static void searching(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;
	struct find *f = &a->find;

	f->typing = e == PROMPT_CHANGED;
	if (e == PROMPT_CANCELLED) {
		app_act(a, find_end(a));
		return;
	}
	if (e == PROMPT_CHANGED || strcmp(f->text, text)) {
		snprintf(f->text, sizeof f->text, "%s", text);
		f->counts = false;
		look(a);
		f->due = *text && query_building(a->query) >= 0;
		app_refresh(a, false);
		f->hit_due = f->hits > 0 && !f->due && query_building(a->query) >= 0;
		if (f->hits > 0 && !find_busy(f))
			app_act(a, app_view(a)->ops->next_hit(app_view(a), false));
	}
	if (e == PROMPT_DONE && *text) {
		const char *s = f->hits == 1 ? "" : "s";
		if (f->pending)
			status_say("%ld hit%s, %zu names pending; n next, N previous", f->hits, s,
				   f->pending);
		else
			status_say("%ld hit%s; n next, N previous", f->hits, s);
	}
}

unsigned find_begin(struct app *a)
{
	if (!app_view(a)->ops->search) {
		status_error("no search in this view");
		return VIEW_DRAW;
	}
	forget(&a->find);
	a->find.typing = true;
	prompt_line(&a->prompt, "/", "", searching, a);
	return VIEW_DRAW;
}

unsigned find_next(struct app *a, bool backwards)
{
	struct find *f = &a->find;
	struct view *v = app_view(a);

	if (!f->text[0] || !v->ops->search) {
		status_error("no search yet; / starts one");
		return VIEW_DRAW;
	}
	if (f->hits <= 0 || f->pending)
		look(a);
	f->counts = false;
	if (query_building(a->query) >= 0) {
		f->due = true;
		return VIEW_DRAW;
	}
	if (f->hits == 0) {
		status_error("no hit for \"%s\"", f->text);
		return VIEW_DRAW;
	}
	app_refresh(a, false);
	return v->ops->next_hit(v, backwards);
}

unsigned find_end(struct app *a)
{
	forget(&a->find);
	if (app_view(a)->ops->search)
		app_view(a)->ops->search(app_view(a), "", &a->find.pending);
	return VIEW_REFRESH;
}

bool find_on(const struct find *f)
{
	return f->text[0] && f->hits >= 0;
}

bool find_busy(const struct find *f)
{
	return f->due || f->hit_due;
}

void find_leave(struct app *a)
{
	a->find.due = a->find.hit_due = false;
}

void find_anew(struct app *a)
{
	struct find *f = &a->find;

	if (!find_on(f))
		return;
	app_view(a)->ops->search(app_view(a), "", &f->pending);
	look(a);
	f->counts = true;
	f->due = query_building(a->query) >= 0;
}

void find_follow(struct app *a)
{
	struct find *f = &a->find;

	if (!f->typing || !find_on(f) || find_busy(f) || (f->hits && !f->pending) ||
	    !app_view(a)->ops->search || now_ns() - f->looked_ns < AGAIN_NS)
		return;
	f->due = true;
	f->counts = f->hits > 0;
	find_go_on(a);
}

/* Its rows are made, then the first hit is gone to. */
void find_go_on(struct app *a)
{
	struct find *f = &a->find;
	struct view *v = app_view(a);

	if (f->due) {
		look(a);
		if (query_building(a->query) >= 0)
			return;
		f->due = false;
		f->hit_due = !f->counts && f->hits > 0;
		if (v->ops->refresh)
			v->ops->refresh(v, false);
	}
	if (f->hit_due && query_building(a->query) < 0) {
		f->hit_due = false;
		v->ops->next_hit(v, false);
	}
}
