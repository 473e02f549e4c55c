/* SPDX-License-Identifier: MIT
 *
 * search.c - / n N and Esc: the search prompt, and the way from hit to hit. app/find.c searches.
 */
#include "app/actions.h"

#include <string.h>

unsigned search_end(struct app *a)
{
	find_forget(&a->front.find, &a->ui);
	if (front_view(a)->ops->search)
		front_view(a)->ops->search(front_view(a), "", &a->front.find.pending);
	return VIEW_REFRESH;
}

static void searching(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;
	struct find *f = &a->front.find;

	f->typing = e == PROMPT_CHANGED;
	if (e == PROMPT_CANCELLED) {
		front_act(a, search_end(a));
		return;
	}
	if (e == PROMPT_CHANGED || strcmp(a->ui.shown.search, text)) {
		snprintf(a->ui.shown.search, sizeof a->ui.shown.search, "%s", text);
		f->counts = false;
		find_look(f, front_view(a));
		front_refresh(a, false);
		if (f->hits > 0)
			front_act(a, front_view(a)->ops->next_hit(front_view(a), false));
	}
	if (e == PROMPT_DONE && *text) {
		const char *s = format_s((uint64_t)f->hits);
		if (f->pending)
			status_say("%ld hit%s, %zu name%s pending; n next, N previous", f->hits, s,
				   f->pending, format_s(f->pending));
		else
			status_say("%ld hit%s; n next, N previous", f->hits, s);
	}
}

unsigned search_begin(struct app *a)
{
	if (!front_view(a)->ops->search) {
		status_error("no search in this view");
		return VIEW_DRAW;
	}
	find_forget(&a->front.find, &a->ui);
	a->front.find.typing = true;
	prompt_line(&a->ui.prompt, "/", "", searching, a);
	return VIEW_DRAW;
}

unsigned search_next(struct app *a, bool backwards)
{
	struct find *f = &a->front.find;
	struct view *v = front_view(a);

	if (!a->ui.shown.search[0] || !v->ops->search) {
		status_error("no search yet; / starts one");
		return VIEW_DRAW;
	}
	if (f->hits <= 0 || f->pending)
		find_look(f, front_view(a));
	f->counts = false;
	if (f->hits == 0) {
		status_error("no hit for \"%s\"", a->ui.shown.search);
		return VIEW_DRAW;
	}
	front_refresh(a, false);
	return v->ops->next_hit(v, backwards);
}
