/* SPDX-License-Identifier: MIT */
#include "views/table_view.h"

#include <stdlib.h>

#define SORT_NONE (-2) /* no column's */

static struct table_view *of(struct view *v)
{
	return (struct table_view *)v;
}

size_t table_view_shows(const struct view *v)
{
	const struct model *m = v->ui->shown.model;

	return model_of_sessions(m) ? TABLE_SESSIONS
				    : (size_t)model_diffing(m) + interval_between(m);
}

int *table_view_sort(struct view *v)
{
	return &of(v)->sort[table_view_diffing(of(v))];
}

int *table_view_one_sort(struct view *v)
{
	return &of(v)->sort[0];
}

static unsigned sort_beside(struct view *v, int step)
{
	int *sort = v->ops->sort(v);

	*sort = table_sort_beside(view_table(v), *sort, step);
	return VIEW_RESORT;
}

unsigned table_view_action(struct view *v, enum action r)
{
	if (list_action(&of(v)->list, r, view_table(v)->id, v))
		return VIEW_DRAW;
	if (!v->ops->sort)
		return VIEW_IGNORED;
	switch (r) {
	case ACT_SORT_LEFT: return sort_beside(v, -1);
	case ACT_SORT_RIGHT: return sort_beside(v, 1);
	case ACT_REVERSE: of(v)->reverse = !of(v)->reverse; return VIEW_RESORT;
	default: return VIEW_IGNORED;
	}
}

bool table_view_hit(void *view, size_t row)
{
	struct view *v = view;
	const char *text = v->ui->shown.search;

	return *text && table_finds(view_table(v), &of(v)->list, v, row, text);
}

long table_view_search(struct view *v, const char *text, size_t *pending)
{
	long hits = 0;

	*pending = 0;
	for (size_t i = 0; i < of(v)->list.count && *text; i++)
		hits += table_finds(view_table(v), &of(v)->list, v, i, text);
	return hits;
}

unsigned table_view_next_hit(struct view *v, enum hit which)
{
	list_next(&of(v)->list, which == HIT_PREVIOUS, table_view_hit, view_table(v)->id, v);
	return VIEW_DRAW;
}

const enum focus *table_view_foci(struct view *v)
{
	static const enum focus graph[] = { FOCUS_GRAPH, FOCUS_NONE };

	return of(v)->graph_focus ? graph : v->ops->keys;
}

bool table_view_escape(struct view *v)
{
	struct graph_time *time = &v->ui->shown.time;
	bool was = of(v)->graph_focus || time->at_ns;

	of(v)->graph_focus = false;
	time->at_ns = 0;
	return was;
}

void table_view_free(struct view *v)
{
	ages_release(&of(v)->ages);
	procs_release(&of(v)->procs);
	free(of(v)->judged);
	free(v);
}

struct order {
	struct view *v;
	const struct column *by;
	table_ties_fn *ties;
};

static int compare(const void *a, const void *b, void *order)
{
	const struct order *o = order;
	struct line x = { a, o->v, LIST_NONE, LIST_NONE }, y = { b, o->v, LIST_NONE, LIST_NONE };
	int c = o->by ? column_compare(o->by, &x, &y) : 0;

	c = c ? c : o->ties(a, b);
	return of(o->v)->reverse ? -c : c;
}

void table_view_order(struct view *v, void *rows, size_t count, size_t size, table_ties_fn *ties)
{
	struct order o = { v, table_sorted_by(view_table(v), *v->ops->sort(v)), ties };

	if (count)
		qsort_r(rows, count, size, compare, &o);
}

void table_view_draw(struct view *v, const struct area *a)
{
	struct table_view *t = of(v);

	table_draw(view_table(v), a, &t->list, v, v->ops->sort ? *v->ops->sort(v) : SORT_NONE,
		   t->reverse, !t->graph_focus);
}

void table_view_draw_why(struct view *v, const struct area *a)
{
	table_view_draw(v, a);
	if (!of(v)->list.count)
		draw_words(a, 2, 3, ROLE_WARNING, ui_empty_reason(v->ui));
}

void table_view_update(struct view *v, const void *rows, size_t count, list_find_fn *find)
{
	of(v)->list.rows = rows;
	list_update(&of(v)->list, count, view_table(v)->id, find, v);
}

unsigned table_view_graph_action(struct view *v, enum action r)
{
	struct shown *s = &v->ui->shown;

	return of(v)->graph_focus && graph_action(&s->figures, &s->time, watch_now(s->watch), r)
		       ? VIEW_DRAW
		       : VIEW_IGNORED;
}
