/* SPDX-License-Identifier: MIT
 *
 * table_view.h - a view that is one table, perhaps with a graph above it. It has the default
 * handlers of such views; a view overrides them in its view_ops. First member of their structs.
 * Main thread.
 */
#ifndef TABLE_VIEW_H
#define TABLE_VIEW_H

#include "diff/judgement.h"
#include "views/ages.h"
#include "views/procs.h"
#include "views/ui.h"

struct table_view {
	struct view v; /* first */
	struct list list;
	struct ages ages;              /* of the rows, where a column shows them */
	struct procs procs;            /* likewise */
	struct diff_judgement *judged; /* of the rows, in a diff of sessions; owned */
	size_t judged_room;
	int sort[2]; /* a column's `sort`; [1]: with a diff */
	bool reverse;
	bool graph_focus; /* the graph, if any, takes the keys */
};

/* For view_ops; these use .tables (its functions receive the view) and .sort (may be NULL). */

/* For .shows, of a view whose tables are these. */
enum { TABLE_PLAIN, TABLE_SINCE, TABLE_BETWEEN, TABLE_SESSIONS };
size_t table_view_shows(const struct view *v);
/* Moves in the list or sorts; VIEW_IGNORED = another action. */
unsigned table_view_action(struct view *v, enum action r);
int *table_view_sort(struct view *v);     /* plain, or with a diff */
int *table_view_one_sort(struct view *v); /* the same with a diff */
/* In the texts of the table's columns. */
long table_view_search(struct view *v, const char *text, size_t *pending);
unsigned table_view_next_hit(struct view *v, enum hit which);
/* Of .keys, or of the graph. */
const enum focus *table_view_foci(struct view *v);
/* Esc in a view with a graph: back to the list and to the present. */
bool table_view_escape(struct view *v);
void table_view_free(struct view *v); /* for a view that owns nothing else */

/* For a table. */
bool table_view_hit(void *view, size_t row);

/* For the views. */

void table_view_draw(struct view *v, const struct area *a);
/* The same, with the reason for an empty table. */
void table_view_draw_why(struct view *v, const struct area *a);
/* Sorts the view's own rows by the column of its sort; `ties` decides between equal ones. */
typedef int table_ties_fn(const void *a, const void *b);
void table_view_order(struct view *v, void *rows, size_t count, size_t size, table_ties_fn *ties);
/* The rows changed: an array of so many, until the next call. */
void table_view_update(struct view *v, const void *rows, size_t count, list_find_fn *find);
/* For a graph with the focus; VIEW_IGNORED = another action. */
unsigned table_view_graph_action(struct view *v, enum action r);

static inline bool table_view_diffing(const struct table_view *t)
{
	return model_diffing(t->v.ui->shown.model);
}

#endif
