/* SPDX-License-Identifier: MIT
 *
 * actions.c - requests that belong to no single view: marks, diff, theme, help, back and
 * quit. Searching, saving, filters and the command line are in app/find.c, app/save.c, app/filter.c
 * and app/command.c.
 *
 * Commands to the agent (marks) return at once; their effect is seen when it arrives as frames.
 */
#include "app/actions.h"

#include "screen/term.h"

#include <string.h>
#include <time.h>

static unsigned said(int rc)
{
	(void)rc;
	return VIEW_DRAW;
}

/* --- marks and diff */

/* Each agent numbers its own marks: one without a name gets the time of day for a name, alike in
 * all processes. */
size_t action_mark(struct app *a, const char *name)
{
	char clock[32];
	time_t now = time(NULL);
	struct tm tm;

	if (!*name && others_watches(a->processes) > 1 && localtime_r(&now, &tm) &&
	    strftime(clock, sizeof clock, "%H:%M:%S", &tm))
		name = clock;
	return processes_mark(a->processes, name);
}

static int mark_now(struct app *a, const char *name)
{
	size_t processes = action_mark(a, name);
	char where[48] = "";

	if (!processes)
		return status_error("no mark set: no live link to the program");
	if (processes > 1)
		snprintf(where, sizeof where, " in %zu processes", processes);
	status_say(watch_instant(a->watch) ? "marking now%s, not the instant shown%s%s"
					   : "setting a mark%s%s%s; d compares with it",
		   where, *name ? ": " : "", name);
	return 0;
}

static void mark_named(void *arg, enum prompt_event e, const char *text)
{
	if (e == PROMPT_DONE)
		mark_now(arg, text);
}

void action_mark_name(const struct app *a, uint32_t mark, char *out, size_t size)
{
	const struct mark *m = mark ? model_mark(a->model, mark) : NULL;
	char number[16];

	snprintf(number, sizeof number, "m%u", mark);
	if (!mark)
		snprintf(out, size, "start");
	else if (m && m->name[0] && strcmp(m->name, number)) /* one without a name is called so */
		snprintf(out, size, "%s %s", number, m->name);
	else
		snprintf(out, size, "%s", number);
}

bool action_diffing(const struct app *a)
{
	return model_diffing(a->model);
}

bool action_between(const struct app *a)
{
	return model_until(a->model) != 0;
}

static void interval_name(const struct app *a, bool brief, uint32_t from, uint32_t to, char *out,
			  size_t size)
{
	char one[128], two[128];

	action_mark_name(a, from, one, sizeof one);
	action_mark_name(a, to, two, sizeof two);
	if (brief && from)
		snprintf(one, sizeof one, "m%u", from);
	if (brief)
		snprintf(two, sizeof two, "m%u", to);
	if (to)
		snprintf(out, size, "%s .. %s", one, two);
	else
		snprintf(out, size, "since %s", one);
}

void action_interval_name(const struct app *a, bool brief, char *out, size_t size)
{
	interval_name(a, brief, model_base(a->model), model_until(a->model), out, size);
}

int action_counting(const struct app *a, bool brief, char *out, size_t size)
{
	uint32_t from, to;
	int percent = model_counting(a->model, &from, &to);

	interval_name(a, brief, from, to, out, size);
	return percent;
}

unsigned action_set_interval(struct app *a, uint32_t from, uint32_t to)
{
	char name[320], one[128], two[128];

	action_mark_name(a, from, one, sizeof one);
	action_mark_name(a, to, two, sizeof two);
	if (model_set_interval(a->model, from, to))
		return said(status_error("%s%s%s: no diff: a mark kept only its totals", one,
					 to ? " .. " : "", to ? two : ""));
	watch_go_on(a->watch);
	interval_name(a, false, from, to, name, sizeof name);
	if (to)
		status_say("d: back to now.  BORN, GONE, NET from %s", name);
	else if (from)
		status_say("d again: off.  BORN, GONE, NET %s", name);
	else
		status_say("diff off: showing what is live now");
	return VIEW_RESORT;
}

static unsigned no_mark(const struct app *a)
{
	return said(status_error("no mark to compare with%s",
				 watch_live(a->watch) ? " yet; s sets one" : " in this session"));
}

static unsigned diff(struct app *a)
{
	uint32_t newest = model_newest_mark(a->model), from, to;

	if (app_view(a)->ops->no_diff)
		return said(status_error("%s", app_view(a)->ops->no_diff));
	model_counting(a->model, &from, &to);
	if (from || to)
		return action_set_interval(a, 0, 0);
	if (!newest)
		return no_mark(a);
	return action_set_interval(a, newest, 0);
}

static unsigned diff_two(struct app *a)
{
	if (!model_newest_mark(a->model))
		return no_mark(a);
	app_show(a, VIEW_MARKS);
	view_marks_pick(a->views[VIEW_MARKS]);
	return VIEW_DRAW;
}

unsigned action_show_node(struct app *a, uint32_t node)
{
	app_show(a, VIEW_TREE);
	view_tree_select_node(a->views[VIEW_TREE], node);
	return VIEW_DRAW;
}

/* --- going */

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
	app_quit(a, 0);
}

static void quitting(void *arg, enum prompt_event e, const char *text)
{
	(void)text;
	if (e == PROMPT_DONE)
		app_quit(arg, 0);
}

static unsigned back(struct app *a)
{
	if (a->leave_ns) {
		app_quit(a, 0);
		return 0;
	}
	if (a->page)
		return VIEW_CLOSE;
	if (a->current != VIEW_OVERVIEW) {
		app_show(a, VIEW_OVERVIEW);
		return VIEW_DRAW;
	}
	char question[96];
	if (a->options->child && quit_question(a, question, sizeof question))
		prompt_ask(&a->prompt, question, "ls", leaving, a);
	else
		prompt_ask(&a->prompt, "Quit memtop?  q or y: quit   Esc: stay", "qy", quitting, a);
	return VIEW_DRAW;
}

static unsigned escape(struct app *a)
{
	struct view *v = app_view(a);

	status_clear();
	a->wanted = 0;
	if (a->find.text[0]) /* it is in what is in front, within any zoom */
		return find_end(a);
	if (a->page)
		return VIEW_CLOSE;
	if (v->ops->escape && v->ops->escape(v))
		return VIEW_RESORT;
	if (a->time.at_ns) {
		a->time.at_ns = 0;
		return VIEW_DRAW;
	}
	if (query_zoom(a->query, 0) == 0)
		return VIEW_RESORT;
	if (a->filter[0])
		action_set_filter(a, "");
	return VIEW_DRAW;
}

int action_set_theme(struct app *a, const char *name)
{
	struct err err = { 0 };
	struct theme t;

	if (theme_load(name, &t, &err))
		return status_error("%s", err.text);
	a->theme = t;
	theme_use(&t);
	if (err.text[0])
		return status_error("%s", err.text);
	status_say("theme: %s", t.name);
	return 0;
}

static unsigned next_theme(struct app *a)
{
	const char *const *names;
	size_t n = theme_names(&names), at = 0;

	if (n == 0)
		return said(status_error("no theme files found"));
	while (at < n && strcmp(names[at], a->theme.name))
		at++;
	return said(action_set_theme(a, names[at < n ? (at + 1) % n : 0]));
}

void action_set_units(enum units u)
{
	static const char *const words[UNITS_COUNT] = { "K, M or G", "M (MiB)", "bytes" };

	text_set_units(u);
	status_say("sizes: %s", words[u]);
}

unsigned action_set_direct(struct app *a, bool on)
{
	owners_direct(a->owners, on);
	owners_direct(travel_owners(a), on);
	status_say(on ? "libraries by direct caller of the allocator"
		      : "libraries by owner: libc, libstdc++ and other wrappers skipped");
	return VIEW_RESORT;
}

static unsigned pause_or_go_on(struct app *a)
{
	a->paused = !a->paused;
	if (a->paused)
		status_say("display paused, data keeps flowing; p resumes");
	else
		status_say("display resumed");
	return a->paused ? VIEW_DRAW : VIEW_REFRESH;
}

static unsigned mouse_or_not(struct app *a)
{
	a->mouse = !a->mouse;
	term_mouse(a->mouse);
	status_say(a->mouse ? "mouse on: a click selects, a second click opens; Shift+mouse "
			      "selects text"
			    : "mouse off: the terminal selects text");
	return VIEW_DRAW;
}

static unsigned detach(struct app *a)
{
	if (watch_detach(a->watch))
		return said(status_error("detach: no live link to the program"));
	status_say("detaching the agent");
	return VIEW_DRAW;
}

static unsigned churn(struct app *a)
{
	app_show(a, VIEW_SITES);
	if (view_sites_by_rate(a->views[VIEW_SITES]))
		return VIEW_DRAW;
	return a->views[VIEW_SITES]->ops->request(a->views[VIEW_SITES], REQ_CHURN);
}

static unsigned columns(struct app *a)
{
	if (!a->views[a->current]->ops->table)
		return said(status_error("this view has no columns to choose"));
	app_open_page(a, view_columns_new(a));
	return VIEW_DRAW;
}

unsigned action_request(struct app *a, enum request r)
{
	switch (r) {
	case REQ_OVERVIEW:
	case REQ_TREE:
	case REQ_SITES:
	case REQ_LIBS:
	case REQ_MARKS:
	case REQ_THREADS:
	case REQ_MEMORY:
	case REQ_OUTPUT:
		app_show(a, (enum view_id)(VIEW_OVERVIEW + (r - REQ_OVERVIEW)));
		return VIEW_DRAW;
	case REQ_INSTANT_BACK:
	case REQ_INSTANT_ON:
		graph_request(&a->figures, &a->time, watch_now(a->watch),
			      r == REQ_INSTANT_ON ? REQ_LATER : REQ_EARLIER);
		return VIEW_DRAW;
	case REQ_MARK: return said(mark_now(a, ""));
	case REQ_MARK_NAMED:
		prompt_line(&a->prompt, "Name of the mark: ", "", mark_named, a);
		return VIEW_DRAW;
	case REQ_DIFF: return diff(a);
	case REQ_DIFF_TWO: return diff_two(a);
	case REQ_SEARCH: return find_begin(a);
	case REQ_NEXT_HIT: return find_next(a, false);
	case REQ_PREV_HIT: return find_next(a, true);
	case REQ_FILTER: action_filter(a); return VIEW_DRAW;
	case REQ_OLDER: action_older(a); return VIEW_DRAW;
	case REQ_SAVE: action_save(a); return VIEW_DRAW;
	case REQ_PAUSE: return pause_or_go_on(a);
	case REQ_PROCESSES: app_open_page(a, view_processes_new(a)); return VIEW_DRAW;
	case REQ_PERCENT:
		a->percent = !a->percent;
		status_clear(); /* what u said is not of the column any more */
		return VIEW_DRAW;
	case REQ_DIRECT: return action_set_direct(a, !owners_direct(a->owners, -1));
	case REQ_UNITS: action_set_units((text_units() + 1) % UNITS_COUNT); return VIEW_DRAW;
	case REQ_CHURN: return churn(a);
	case REQ_COLUMNS: return columns(a);
	case REQ_COPY: return action_copy_stack(a);
	case REQ_EDIT: return action_edit(a);
	case REQ_THEME: return next_theme(a);
	case REQ_MOUSE: return mouse_or_not(a);
	case REQ_REDRAW: term_resize(); return VIEW_DRAW;
	case REQ_DETACH: return detach(a);
	case REQ_SUSPEND: term_suspend(); return VIEW_REFRESH;
	case REQ_COMMAND: action_command(a); return VIEW_DRAW;
	case REQ_AGENT: app_open_page(a, view_agent_new(a)); return VIEW_DRAW;
	case REQ_HELP: app_open_page(a, view_help_new(a)); return VIEW_DRAW;
	case REQ_ESCAPE: return escape(a);
	case REQ_BACK: return back(a);
	case REQ_QUIT: app_quit(a, 0); return 0;
	default: return 0;
	}
}
