/* SPDX-License-Identifier: MIT
 *
 * tree.h - the Tree view's parts: views/tree/tree.c (keys, selection), views/tree/rows.c (drawing)
 * and views/tree/zoom.c (zooms).
 */
#ifndef TREE_H
#define TREE_H

#include "views/table_view.h"
#include "widgets/judgement.h"

#define CRUMBS_MAX 8

/* What an answer is to do, besides the rows. */
struct tree_want {
	enum {
		TREE_ROWS,
		TREE_HEAVY, /* opens the heaviest path below the row */
		TREE_ALL,   /* ... all */
		TREE_NODE,  /* the way to a trie node */
		TREE_CHILD, /* selects the row's first child */
		TREE_HIT,   /* ... a hit, from the row on */
	} what;
	uint32_t id; /* the row; for TREE_NODE the trie node */
	enum hit hit;
	bool first; /* opens the heaviest path of all, as the view begins */
	bool look;  /* counts the hits of the search */
	enum query_column by;
	bool reverse, resort;
};

struct tree {
	struct table_view tv; /* first */
	struct row *rows;     /* the query's, query_rows_keep() */
	size_t count;
	bool opened;    /* the heaviest path was opened once */
	bool searching; /* since the user chose this row: */
	row_id before_search;
	bool hurried;                 /* the search has the newest names */
	struct tree_want want, asked; /* the next answer's, and that of the one under way */
	struct tree_made {
		struct row *rows;
		size_t count, left; /* left: rows that stay closed, of TREE_ALL */
		size_t hits, pending;
		row_id end; /* is selected; 0 = none */
	} made;
	/* selected once the selected row is gone; 0 = the row on its line */
	row_id instead;
	char owner[64]; /* zoomed library; "": none */
	/* zoomed rows within it, and the names of those that fit */
	size_t zooms, crumb_count;
	char crumbs[CRUMBS_MAX][64];
};

/* For the app. */
/* Before the view comes to the front: */
void view_tree_select_node(struct view *v, uint32_t node);
void view_tree_zoom_owner(struct view *v, uint32_t module, const char *name);
unsigned view_tree_zoom_out(struct view *v);         /* as tree_zoom_out() */
unsigned view_tree_inlined(struct view *v, bool on); /* inlined functions are rows */

/* For the view's own files. */
static inline uint64_t tree_id(void *arg, size_t i)
{
	return ((struct tree *)arg)->rows[i].id;
}
static inline struct row *tree_selected(const struct tree *t) /* NULL = no row */
{
	return t->count ? &t->rows[t->tv.list.at] : NULL;
}
static inline void tree_change(struct tree *t, ui_change_fn *fn, uint32_t id)
{
	t->tv.v.ui->ops->later(t->tv.v.ui, VIEW_TREE, fn, id);
}
extern const struct table tree_tables[];
size_t tree_shows(const struct view *v);
enum ages_of tree_ages(const struct tree *t); /* that are wanted */
/* The selected row in words, in so many lines. */
int tree_panel_height(const struct tree *t);
void tree_panel(const struct tree *t, const struct area *a);
/* Zooms into the row or its library; out of the innermost row, then out of the library. VIEW_DRAW =
 * no zoom was left. */
unsigned tree_zoom(struct tree *t, const struct row *r);
unsigned tree_zoom_library(struct tree *t, const struct row *r);
unsigned tree_zoom_out(struct tree *t);
void tree_caption(struct view *v, bool brief, char *out, size_t size);

#endif
