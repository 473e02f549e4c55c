/* SPDX-License-Identifier: MIT
 *
 * zoom.c - zooms the Tree into a library or below a row and out again, and draws the line that
 * names the zoom. A library is the outermost zoom, because it is the query's filter of all rows.
 */
#include "views/tree/tree.h"

#include <string.h>

static void do_zoom(struct ui *ui, uint32_t id) /* 0 = out one level */
{
	query_zoom(ui->shown.query, id);
}

static void do_zoom_owner(struct ui *ui, uint32_t module)
{
	query_zoom_owner(ui->shown.query, module);
}

static void zoom_owner(struct tree *t, uint32_t module, const char *name)
{
	snprintf(t->owner, sizeof t->owner, "%.60s", name);
	tree_change(t, do_zoom_owner, module);
	t->tv.list.touched = false;
}

unsigned tree_zoom(struct tree *t, const struct row *r)
{
	if (r->flags & ROW_REST || t->zooms == QUERY_ZOOMS_MAX) {
		status_error("cannot zoom into this row");
	} else {
		tree_change(t, do_zoom, r->id);
		t->zooms++;
		if (t->crumb_count < CRUMBS_MAX)
			snprintf(t->crumbs[t->crumb_count++], sizeof *t->crumbs, "%.60s", r->name);
	}
	t->tv.list.touched = false;
	return VIEW_RESORT;
}

unsigned tree_zoom_library(struct tree *t, const struct row *r)
{
	if (r->owner)
		zoom_owner(t, r->owner->module, r->owner->name);
	else
		status_error("cannot zoom into this row");
	return VIEW_RESORT;
}

unsigned tree_zoom_out(struct tree *t)
{
	if (!t->zooms && !*t->owner)
		return VIEW_DRAW;
	if (t->zooms)
		t->zooms--;
	else
		t->owner[0] = 0;
	tree_change(t, do_zoom, 0);
	return VIEW_RESORT;
}

unsigned view_tree_zoom_out(struct view *v)
{
	return tree_zoom_out((struct tree *)v);
}

void view_tree_zoom_owner(struct view *v, uint32_t module, const char *name)
{
	struct tree *t = (struct tree *)v;

	for (; t->zooms; t->zooms--) /* the owner's whole memory */
		tree_change(t, do_zoom, 0);
	zoom_owner(t, module, name);
	t->opened = false;
}

void tree_caption(struct view *v, bool brief, char *out, size_t size)
{
	struct tree *t = (struct tree *)v;
	size_t n = 0;
	char words[64];

	if (*t->owner)
		n = (size_t)snprintf(out, size, "in %s", t->owner);
	for (size_t i = 0; i < t->crumb_count && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " > " : "in ", t->crumbs[i]);
	if (n < size && query_inverted(v->ui->shown.query))
		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "  " : "",
				      brief ? "inverted" : "inverted: from the allocation up");
	if (n < size && !query_inlined(v->ui->shown.query))
		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "  " : "",
				      brief ? "no inlined" : "inlined left out");
	if (n < size && table_view_diffing(&t->tv)) {
		char interval[320];
		interval_name(v->ui->shown.model, brief, interval, sizeof interval);
		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "  " : "", interval);
	}
	if (n < size && *ages_words(&t->tv.ages, v->ui, words, sizeof words))
		snprintf(out + n, size - n, "%s%s", n ? "  " : "", words + 2);
}
