/* SPDX-License-Identifier: MIT
 *
 * table_view.h - a view that is one table, perhaps with a graph above it. It has the default
 * handlers of such views; a view overrides them in its view_ops. First member of their structs.
 * Main thread.
 */
#ifndef TABLE_VIEW_H
#define TABLE_VIEW_H

#include "views/ui.h"

struct table_view {
	struct view v; /* first */
	struct list list;
	int sort[2]; /* a column's `sort`; [1]: with a diff */
	bool reverse;
	bool graph_focus; /* keys go to the graph; of a view that has one */
};

/* --- for view_ops; they want .table, whose functions are given the view, and .sort or NULL */

/* Moves in the list, sorts; VIEW_IGNORED = it is another request. */
unsigned table_view_request(struct view *v, enum request r);
int *table_view_sort(struct view *v);     /* plain, or with a diff */
int *table_view_one_sort(struct view *v); /* the same with a diff */
/* They want .matches. */
long table_view_search(struct view *v, const char *text, size_t *pending);
unsigned table_view_next_hit(struct view *v, bool backwards);
/* Of .keys, or of the graph. */
const enum focus *table_view_foci(struct view *v);
/* Esc, of a view with a graph: to the list, and now. */
bool table_view_escape(struct view *v);
void table_view_free(struct view *v); /* of one that owns nothing */

/* --- for a table */
bool table_view_hit(void *view, size_t row);

/* --- for the views */

void table_view_draw(struct view *v, const struct area *a);
/* ... and why there is nothing to see. */
void table_view_draw_why(struct view *v, const struct area *a);
/* The rows changed: there are so many. */
void table_view_update(struct view *v, size_t count, list_find_fn *find);
/* Of a graph that has the focus: VIEW_IGNORED = it is another request. */
unsigned table_view_graph_request(struct view *v, enum request r);

static inline bool table_view_diffing(const struct table_view *t)
{
	return model_diffing(t->v.ui->shown.model);
}

#endif
