/* SPDX-License-Identifier: MIT
 *
 * shown.c - which process of the tree is shown. Two structs hold its state: the queries on its
 * model, its views with their open and selected rows, filter, search and instant. They are put away
 * while another process is shown and restored later. Watches belong to the processes and outlive
 * the view.
 *
 * Settings for all processes (units, libraries by direct caller, inlined functions) stay.
 */
#include "app/actions.h"
#include "app/config.h"

#include "diff/session.h"

#include <stdlib.h>

/* One Output view serves all processes: it always shows the first program's output. */
static void open_views(struct app *a, struct view *output)
{
#define MAKER(X, id, name, ...) view_##name##_new,
	static struct view *(*const makers[])(struct ui *) = { VIEWS(MAKER, ) };
#undef MAKER

	for (int v = 0; v < VIEW_COUNT; v++)
		if (!a->options->diff || view_info((enum view_id)v)->of_diff)
			a->front.views[v] = v == VIEW_OUTPUT && output ? output : makers[v](&a->ui);
}

/* The file is small and whole: the interval is in force at once. */
static void open_diff(struct app *a)
{
	a->front.current = VIEW_TREE;
	model_set_of_sessions(a->ui.shown.model);
	model_set_interval(a->ui.shown.model, DIFF_SESSION_MARK, 0);
}

static void open_shown(struct app *a, struct watch *w)
{
	enum view_id current = a->front.current == VIEW_OUTPUT ? VIEW_OVERVIEW : a->front.current;
	struct view *output = a->front.views[VIEW_OUTPUT];
	struct shown *s = &a->ui.shown;

	*s = (struct shown){ .watch = w, .model = watch_model(w), .symbols = watch_symbols(w) };
	s->owners = owners_new(s->model, s->symbols);
	s->query = query_new(s->model, s->symbols, s->owners);
	query_expect(s->query, watch_expected(w));
	a->front = (struct front){ .current = current, .find.hits = HITS_NONE };
	a->front.budget.percent = a->options->max_overhead;
	open_views(a, output);
	if (a->options->diff)
		open_diff(a);
}

static void bring_back(struct app *a, struct kept_process *k)
{
	a->ui.shown = k->shown;
	a->front = k->front;
	free(k);
}

/* Takes it out of what is kept; NULL = it was never shown. */
static struct kept_process *take_kept(struct kept *kept, const struct watch *w)
{
	for (size_t i = 0; i < kept->count; i++)
		if (kept->list[i]->shown.watch == w) {
			struct kept_process *k = kept->list[i];
			kept->list[i] = kept->list[--kept->count];
			return k;
		}
	return NULL;
}

static void put_away(struct app *a)
{
	struct kept_process *k = xmalloc(sizeof *k);

	*k = (struct kept_process){ a->ui.shown, a->front };
	GROW(a->kept.list, a->kept.room, a->kept.count + 1);
	a->kept.list[a->kept.count++] = k;
}

/* Shows w's process; true: it was shown before. */
static bool change(struct app *a, struct watch *w)
{
	struct kept_process *kept = take_kept(&a->kept, w);
	bool direct = a->ui.shown.watch ? owners_direct(a->ui.shown.owners, -1)
					: config_get(NULL)->direct;
	bool inlined =
		a->ui.shown.watch ? query_inlined(a->ui.shown.query) : config_get(NULL)->inlined;

	if (a->ui.shown.watch)
		put_away(a);
	if (kept)
		bring_back(a, kept);
	else
		open_shown(a, w);
	owners_direct(a->ui.shown.owners, direct);
	owners_direct(travel_owners(&a->front.travel, &a->ui.shown), direct);
	query_set_inlined(a->ui.shown.query, inlined);
	return kept != NULL;
}

static void release(struct app *a)
{
	for (int i = 0; i < VIEW_COUNT; i++)
		if (a->front.views[i] && i != VIEW_OUTPUT)
			a->front.views[i]->ops->free(a->front.views[i]);
	travel_release(&a->front.travel);
	query_free(a->ui.shown.query);
	owners_free(a->ui.shown.owners);
	figures_release(&a->ui.shown.figures);
}

void shown_release(struct app *a)
{
	struct view *output = a->front.views[VIEW_OUTPUT];

	asker_end(a);
	if (a->ui.shown.watch)
		release(a);
	while (a->kept.count) {
		bring_back(a, a->kept.list[--a->kept.count]);
		release(a);
	}
	if (output)
		output->ops->free(output);
	free(a->kept.list);
}

/* Pages show the process that they were opened for. Only the list of processes is of all; it closes
 * itself. */
static void close_page(struct app *a)
{
	if (a->page && !view_is_processes(a->page))
		front_close(a);
}

/* Handles events that came while another process was shown: its replay may have ended. */
void shown_watch(struct app *a, struct watch *w)
{
	if (a->ui.shown.watch)
		watch_on_change(a->ui.shown.watch, NULL, NULL);
	close_page(a);
	asker_drop(a);
	bool before = change(a, w);
	struct view *v = a->front.views[a->front.current];
	watch_on_change(w, a->on_change, a);
	others_take(&a->ui.others, a->ui.processes, w);
	if (before)
		travel_arrived(&a->front.travel, &a->ui.shown);
	if (before && v->ops->enter)
		v->ops->enter(v);
	if (!travel_under_way(&a->front.travel))
		front_refresh(a, true);
	else
		front_rows(a, false);
	if (!before && watch_target(w)->kind == TARGET_FILE)
		travel_read(&a->front.travel, &a->ui.shown);
}

/* A fork has no server until it has lived for some seconds; an exec has none until its agent has
 * begun. */
static int wait_for_it(struct app *a, const struct process *p)
{
	a->wanted = p->id;
	status_say("%.63s [%d]: waiting until its agent listens.  Esc: stay", p->name, p->pid);
	return 0;
}

int shown_process(struct app *a, uint32_t id)
{
	const struct process *p = processes_find(a->ui.processes, id);
	struct err err = { 0 };

	a->wanted = 0;
	if (!p)
		return status_error("this process is no longer in the list");
	if (saver_naming())
		return status_error("saving a file; switch processes when that is done");
	struct watch *w = processes_watch(a->ui.processes, id, &err); /* it stays open */
	if (!w && !p->why && process_runs(p))
		return wait_for_it(a, p);
	if (!w)
		return status_error("%s", err.text);
	shown_watch(a, w);
	return 0;
}

void shown_go_on(struct app *a)
{
	const struct process *p = a->wanted ? processes_find(a->ui.processes, a->wanted) : NULL;

	if (p && !a->ui.prompt.open)
		shown_process(a, a->wanted);
}

void shown_begin(struct app *a)
{
	const struct process *one = processes_find(a->ui.processes, a->ui.others.shown);

	if (!a->options->child || a->timing.key_ns || a->kept.count || !one ||
	    one->id == PROCESS_ALL || !processes_only_starts(a->ui.processes, one->id))
		return;
	char name[64];
	snprintf(name, sizeof name, "%s", one->name);
	if (!shown_process(a, PROCESS_ALL))
		status_say("%s only starts others: this is all of them.  P lists each", name);
}
