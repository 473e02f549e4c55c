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

struct tree {
	struct table_view tv;   /* first */
	const struct row *rows; /* the query's, until the next query_rows() */
	size_t count;
	bool opened; /* the heaviest path was opened once */
	/* pending action */
	enum { WANT_NOTHING, WANT_HEAVY, WANT_FIRST, WANT_ALL, WANT_NODE } want;
	uint32_t want_id; /* the row; for WANT_NODE the trie node */
	/* selected once the selected row is gone; 0 = the row on its line */
	row_id instead;
	char owner[64]; /* zoomed library; "": none */
	/* zoomed rows within it, as far as they fit */
	size_t crumb_count;
	char crumbs[CRUMBS_MAX][64];
};

/* For the app. */
void view_tree_select_node(struct view *v, uint32_t node);
unsigned view_tree_inlined(struct view *v, bool on); /* inlined functions are rows */
void view_tree_zoom_owner(struct view *v, uint32_t module, const char *name);

/* For the view's own files. */
static inline uint64_t tree_id(void *arg, size_t i)
{
	return ((struct tree *)arg)->rows[i].id;
}
static inline const struct row *tree_selected(const struct tree *t) /* NULL = no row */
{
	return t->count ? &t->rows[t->tv.list.at] : NULL;
}
extern const struct table tree_tables[];
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
