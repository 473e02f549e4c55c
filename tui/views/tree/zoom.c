/* SPDX-License-Identifier: MIT
 *
 * zoom.c - zooms the Tree into a library or below a row and out again, and draws the line that
 * names the zoom. A library is the outermost zoom, because it is the query's filter of all rows.
 */
#include "views/tree/tree.h"

#include <string.h>

static void zoom_owner(struct tree *t, uint32_t module, const char *name)
{
	snprintf(t->owner, sizeof t->owner, "%.60s", name);
	query_zoom_owner(t->tv.v.ui->shown.query, module);
	t->tv.list.touched = false;
}

unsigned tree_zoom(struct tree *t, const struct row *r)
{
	char name[64];

	/* The row is the query's, and invalid once the query changes. */
	snprintf(name, sizeof name, "%.60s", r->name);
	if (query_zoom(t->tv.v.ui->shown.query, r->id))
		status_error("cannot zoom into this row");
	else if (t->crumb_count < CRUMBS_MAX)
		memcpy(t->crumbs[t->crumb_count++], name, sizeof name);
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
	struct query *q = t->tv.v.ui->shown.query;

	if (!query_zoom_depth(q))
		t->owner[0] = 0;
	return query_zoom(q, 0) ? VIEW_DRAW : VIEW_RESORT;
}

void view_tree_zoom_owner(struct view *v, uint32_t module, const char *name)
{
	struct tree *t = (struct tree *)v;

	while (query_zoom_depth(v->ui->shown.query)) /* the owner's whole memory */
		query_zoom(v->ui->shown.query, 0);
	zoom_owner(t, module, name);
	t->opened = false;
	v->ops->refresh(v, true);
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
