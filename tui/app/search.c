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
		asker_by_key(a, a->front.current);
		front_act(a, find_look(f, front_view(a), true, HIT_FIRST));
	}
	if (e == PROMPT_DONE && *text)
		find_say(f);
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

unsigned search_next(struct app *a, enum hit which)
{
	struct find *f = &a->front.find;
	struct view *v = front_view(a);

	if (!a->ui.shown.search[0] || !v->ops->search) {
		status_error("no search yet; / starts one");
		return VIEW_DRAW;
	}
	if (f->coming)
		asker_finish(a);
	if (f->hits <= 0 || f->pending)
		return find_look(f, v, true, which);
	return v->ops->next_hit(v, which);
}
