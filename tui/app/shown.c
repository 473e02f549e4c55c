/* SPDX-License-Identifier: MIT
 *
 * shown.c - which process of the tree is shown. All that belongs to it (its model's queries, its
 * views with what is open and selected in them, filter, search and instant) is one struct, which is
 * put away when another process is shown, and brought back when this one is again. Watches belong
 * to the processes, and outlive the view.
 *
 * What the user chose for all (units, libraries by direct caller, inlined functions) goes along.
 */
#include "app/actions.h"
#include "app/config.h"

#include <stdlib.h>

/* --- the one that is shown, and those that are kept */

/* The output is that of the first program, whichever process is shown: one view for all. */
static void open_views(struct app *a, struct view *output)
{
	a->views[VIEW_OVERVIEW] = view_overview_new(a);
	a->views[VIEW_TREE] = view_tree_new(a);
	a->views[VIEW_SITES] = view_sites_new(a);
	a->views[VIEW_LIBS] = view_libs_new(a);
	a->views[VIEW_MARKS] = view_marks_new(a);
	a->views[VIEW_THREADS] = view_threads_new(a);
	a->views[VIEW_MEMORY] = view_memory_new(a);
	if (a->options->output_fd >= 0 && a->options->child)
		a->views[VIEW_OUTPUT] = output ? output : view_output_new(a);
}

static void open_shown(struct app *a, struct watch *w)
{
	enum view_id current = a->current == VIEW_OUTPUT ? VIEW_OVERVIEW : a->current;
	struct view *output = a->views[VIEW_OUTPUT];

	a->shown = (struct shown){ .watch = w, .current = current, .find.hits = -1 };
	a->budget.percent = a->options->max_overhead;
	a->model = watch_model(w);
	a->symbols = watch_symbols(w);
	a->owners = owners_new(a->model, a->symbols);
	a->query = query_new(a->model, a->symbols, a->owners);
	query_expect(a->query, watch_expected(w));
	open_views(a, output);
}

/* Takes it out of what is kept; NULL = it was never shown. */
static struct shown *take_kept(struct app *a, const struct watch *w)
{
	for (size_t i = 0; i < a->kept_count; i++)
		if (a->kept[i]->watch == w) {
			struct shown *s = a->kept[i];
			a->kept[i] = a->kept[--a->kept_count];
			return s;
		}
	return NULL;
}

static void put_away(struct app *a)
{
	struct shown *s = xmalloc(sizeof *s);

	find_leave(a);
	*s = a->shown;
	GROW(a->kept, a->kept_room, a->kept_count + 1);
	a->kept[a->kept_count++] = s;
}

bool shown_change(struct app *a, struct watch *w)
{
	struct shown *kept = take_kept(a, w);
	bool direct = a->watch ? owners_direct(a->owners, -1) : config_get(NULL)->direct;
	bool inlined = a->watch ? query_inlined(a->query) : config_get(NULL)->inlined;

	if (a->watch)
		put_away(a);
	if (kept)
		a->shown = *kept;
	else
		open_shown(a, w);
	owners_direct(a->owners, direct);
	owners_direct(travel_owners(a), direct);
	query_set_inlined(a->query, inlined);
	free(kept);
	return kept != NULL;
}

static void release(struct app *a)
{
	for (int i = 0; i < VIEW_COUNT; i++)
		if (a->views[i] && i != VIEW_OUTPUT)
			a->views[i]->ops->free(a->views[i]);
	travel_release(a);
	query_free(a->query);
	owners_free(a->owners);
	figures_release(&a->figures);
}

void shown_release(struct app *a)
{
	struct view *output = a->views[VIEW_OUTPUT];

	if (a->watch)
		release(a);
	while (a->kept_count) {
		struct shown *s = a->kept[--a->kept_count];
		a->shown = *s;
		release(a);
		free(s);
	}
	if (output)
		output->ops->free(output);
	free(a->kept);
}

/* --- another one is asked for */

/* A fork has no server until it has lived for some seconds; an exec has none until its agent has
 * begun. */
static int wait_for_it(struct app *a, const struct process *p)
{
	a->wanted = p->id;
	status_say("%.63s [%d]: waiting until its agent listens.  Esc: stay", p->name, p->pid);
	return 0;
}

int action_show_process(struct app *a, uint32_t id)
{
	const struct process *p = processes_find(a->processes, id);
	struct err err = { 0 };

	a->wanted = 0;
	if (!p)
		return status_error("this process is no longer in the list");
	if (saver_naming())
		return status_error("saving a file; switch processes when that is done");
	struct watch *w = processes_watch(a->processes, id, &err); /* from now on it stays */
	if (!w && !p->why && process_runs(p))
		return wait_for_it(a, p);
	if (!w)
		return status_error("%s", err.text);
	app_watch(a, w);
	return 0;
}

void shown_go_on(struct app *a)
{
	const struct process *p = a->wanted ? processes_find(a->processes, a->wanted) : NULL;

	if (p && !a->prompt.open)
		action_show_process(a, a->wanted);
}
