/* SPDX-License-Identifier: MIT
 *
 * actions.c - actions that belong to no single view: marks, diff, theme, help, back and
 * quit. Searching, saving, filters and the command line are in app/find.c, app/save.c, app/filter.c
 * and app/keys/command.c.
 *
 * Commands to the agent (marks) return at once; the screen changes when the agent's frames arrive.
 */
#include "app/keys/keys.h"
#include "app/frame/chrome.h"
#include "app/actions.h"
#include "app/travel.h"
#include "views/marks/marks.h"
#include "views/tree/tree.h"

#include "screen/term.h"

#include <time.h>

static unsigned said(int rc)
{
	(void)rc;
	return VIEW_DRAW;
}

static void mark_named(void *arg, enum prompt_event e, const char *text)
{
	if (e == PROMPT_DONE)
		mark_set(&((struct app *)arg)->ui, text);
}

static unsigned no_mark(const struct app *a)
{
	return said(status_error("no mark to compare with%s",
				 ui_linked(&a->ui) ? " yet; s sets one" : " in this session"));
}

static unsigned diff(struct app *a)
{
	uint32_t newest = model_newest_mark(a->ui.shown.model);

	if (front_view(a)->ops->no_diff)
		return said(status_error("%s", front_view(a)->ops->no_diff));
	if (model_diffing(a->ui.shown.model))
		return interval_set(a->ui.shown.model, 0, 0);
	if (!newest)
		return no_mark(a);
	return interval_set(a->ui.shown.model, newest, 0);
}

static unsigned diff_two(struct app *a)
{
	if (!model_newest_mark(a->ui.shown.model))
		return no_mark(a);
	front_show(a, VIEW_MARKS);
	view_marks_pick(a->front.views[VIEW_MARKS]);
	return VIEW_DRAW;
}

static void leaving(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;

	if (e != PROMPT_DONE)
		return;
	if (*text == 's') {
		quit_stop(a);
		status_say("Stopping the program, waiting for its last state.  q: leave now");
		return;
	}
	quit_now(a, 0);
}

static void quitting(void *arg, enum prompt_event e, const char *text)
{
	(void)text;
	if (e == PROMPT_DONE)
		quit_now(arg, 0);
}

static unsigned back(struct app *a)
{
	if (a->leave_ns) {
		quit_now(a, 0);
		return 0;
	}
	if (a->page)
		return VIEW_CLOSE;
	enum view_id home = a->options->diff ? VIEW_TREE : VIEW_OVERVIEW;
	if (a->front.current != home) {
		front_show(a, home);
		return VIEW_DRAW;
	}
	char question[96];
	if (a->options->child && quit_question(a, question, sizeof question))
		prompt_ask(&a->ui.prompt, question, "ls", leaving, a);
	else
		prompt_ask(&a->ui.prompt, "Quit memtop?  q or y: quit   Esc: stay", "qy", quitting,
			   a);
	return VIEW_DRAW;
}

static unsigned escape(struct app *a)
{
	struct view *v = front_view(a);

	status_clear();
	a->wanted = 0;
	if (a->ui.shown.search[0]) /* a search is innermost, within any page or zoom */
		return search_end(a);
	if (a->page)
		return VIEW_CLOSE;
	if (v->ops->escape && v->ops->escape(v))
		return VIEW_RESORT;
	if (a->ui.shown.time.at_ns) {
		a->ui.shown.time.at_ns = 0;
		return VIEW_DRAW;
	}
	if (view_tree_zoom_out(a->front.views[VIEW_TREE]) == VIEW_RESORT)
		return VIEW_RESORT;
	if (a->ui.shown.filter[0])
		filter_set(a, "");
	return VIEW_DRAW;
}

static unsigned pause_or_go_on(struct app *a)
{
	a->ui.paused = !a->ui.paused;
	if (a->ui.paused)
		status_say("display paused, data keeps flowing; p resumes");
	else
		status_say("display resumed");
	return a->ui.paused ? VIEW_DRAW : VIEW_REFRESH;
}

static unsigned detach(struct app *a)
{
	if (ui_of_all(&a->ui))
		return said(status_error("detach: All has an agent in each process; P shows one, "
					 "then detach"));
	if (watch_detach(a->ui.shown.watch))
		return said(status_error("detach: no live link to the program"));
	status_say("detaching the agent");
	return VIEW_DRAW;
}

static unsigned churn(struct app *a)
{
	front_show(a, VIEW_SITES);
	if (view_sites_by_rate(a->front.views[VIEW_SITES]))
		return VIEW_DRAW;
	return a->front.views[VIEW_SITES]->ops->action(a->front.views[VIEW_SITES], ACT_CHURN);
}

static unsigned columns(struct app *a)
{
	if (!a->front.views[a->front.current]->ops->tables)
		return said(status_error("this view has no columns to choose"));
	front_open(a, view_columns_new(&a->ui, a->front.views[a->front.current]));
	return VIEW_DRAW;
}

static unsigned help(struct app *a)
{
	struct view *v = a->front.views[a->front.current];

	front_open(a, view_help_new(&a->ui, a->page ? NULL : v->ops->foci(v),
				    a->front.views[VIEW_OUTPUT] != NULL,
				    a->options->diff ? compared_help : NULL));
	return VIEW_DRAW;
}

static unsigned global_action(struct app *a, enum action r)
{
	if (view_of_action(r) != VIEW_COUNT) {
		front_show(a, view_of_action(r));
		return VIEW_DRAW;
	}
	switch (r) {
	case ACT_INSTANT_BACK:
	case ACT_INSTANT_ON:
		graph_action(&a->ui.shown.figures, &a->ui.shown.time, watch_now(a->ui.shown.watch),
			     r == ACT_INSTANT_ON ? ACT_LATER : ACT_EARLIER);
		return VIEW_DRAW;
	case ACT_INSTANT_PEAK: travel_peak(&a->ui.shown); return VIEW_DRAW;
	case ACT_MARK: return said(mark_set(&a->ui, ""));
	case ACT_MARK_NAMED:
		prompt_line(&a->ui.prompt, "Name of the mark: ", "", mark_named, a);
		return VIEW_DRAW;
	case ACT_DIFF: return diff(a);
	case ACT_DIFF_TWO: return diff_two(a);
	case ACT_SEARCH: return search_begin(a);
	case ACT_NEXT_HIT: return search_next(a, HIT_NEXT);
	case ACT_PREV_HIT: return search_next(a, HIT_PREVIOUS);
	case ACT_FILTER: filter_type(a); return VIEW_DRAW;
	case ACT_OLDER: filter_older(a); return VIEW_DRAW;
	case ACT_SAVE: save_ask(a); return VIEW_DRAW;
	case ACT_PAUSE: return pause_or_go_on(a);
	case ACT_PROCESSES:
		front_open(a, view_processes_new(&a->ui, a->options->can_switch));
		return VIEW_DRAW;
	case ACT_PERCENT:
		a->choices.percent = !a->choices.percent;
		status_clear(); /* what u said no longer fits the column */
		return VIEW_DRAW;
	case ACT_DIRECT: return choices_direct(a, !owners_direct(a->ui.shown.owners, -1));
	case ACT_UNITS: choices_units((text_units() + 1) % UNITS_COUNT); return VIEW_DRAW;
	case ACT_CHURN: return churn(a);
	case ACT_COLUMNS: return columns(a);
	case ACT_COPY: return stack_copy(a);
	case ACT_EDIT: return stack_edit(a);
	case ACT_THEME: return choices_next_theme(a);
	case ACT_MOUSE: return choices_mouse(a);
	case ACT_REDRAW: term_resize(); return VIEW_DRAW;
	case ACT_DETACH: return detach(a);
	case ACT_SUSPEND: term_suspend(); return VIEW_REFRESH;
	case ACT_COMMAND: command_type(a); return VIEW_DRAW;
	case ACT_AGENT: front_open(a, view_agent_new(&a->ui)); return VIEW_DRAW;
	case ACT_HELP: return help(a);
	case ACT_ESCAPE: return escape(a);
	case ACT_BACK: return back(a);
	case ACT_QUIT: quit_now(a, 0); return 0;
	default: return 0;
	}
}

static bool acts_on_rows(enum action r)
{
	return action_info(r)->focus != FOCUS_GLOBAL && r != ACT_SORT_LEFT && r != ACT_SORT_RIGHT &&
	       r != ACT_REVERSE;
}

unsigned dispatch_action(struct app *a, enum action r)
{
	char name[32], views[160];

	if (a->options->diff && !compared_help(r))
		return said(status_error("%s: not in a diff of two sessions; %s show it",
					 action_word(r, name),
					 compared_views(views, sizeof views)));
	struct view *v = front_view(a);
	if (acts_on_rows(r) && asker_is_awaited(a))
		asker_finish(a);
	unsigned bits = v->ops->action(v, r);

	if (action_info(r)->focus == FOCUS_GLOBAL && bits & VIEW_IGNORED)
		bits = global_action(a, r);
	/* of another view those rows are good that it shows */
	if (action_info(r)->focus != FOCUS_GLOBAL && bits & (VIEW_REFRESH | VIEW_RESORT))
		asker_by_key(a, a->front.current);
	return bits;
}
