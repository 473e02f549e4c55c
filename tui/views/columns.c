/* SPDX-License-Identifier: MIT
 *
 * columns.c - the page that lists the columns of the view below with their meaning; Space hides or
 * shows one. Columns that a view cannot do without are not listed.
 */
#include "views/views.h"
#include "widgets/columns.h"
#include "widgets/status.h"

#include <stdlib.h>

struct columns_page {
	struct view v; /* first */
	struct list list;
	const struct view *of;          /* the view below; it outlives the page */
	size_t rows[TABLE_COLUMNS_MAX]; /* columns of its table */
	size_t count;
};

static const struct table *table(const struct columns_page *c)
{
	return view_table(c->of);
}

static const struct column *column_at(const struct columns_page *c, size_t i)
{
	return table(c)->columns[c->rows[i]].is;
}

static uint64_t id_of(void *arg, size_t i)
{
	return ((struct columns_page *)arg)->rows[i] + 1;
}

static void refresh(struct view *v, bool resort)
{
	struct columns_page *c = (struct columns_page *)v;
	const struct table *t = table(c);

	(void)resort;
	c->count = 0;
	for (size_t i = 0; i < t->count; i++)
		if (t->columns[i].rank)
			c->rows[c->count++] = i;
	list_update(&c->list, c->count, id_of, NULL, c);
}

static void draw(struct view *v, const struct area *a)
{
	struct columns_page *c = (struct columns_page *)v;

	draw_printf(a, 0, 1, ROLE_TITLE, "Columns of %s", view_info(table(c)->view)->title);
	list_fit(&c->list, a->h - 2);
	for (int line = 0; line < c->list.height && c->list.top + (size_t)line < c->count; line++) {
		size_t row = c->list.top + (size_t)line;
		const struct column *x = column_at(c, row);
		const char *what = columns_what(x->title);
		if (row == c->list.at) {
			draw_overlay(ROLE_SELECTED);
			draw_fill(a, line + 2, 0, -1, ROLE_NORMAL);
			draw_text(a, line + 2, 0, ROLE_NORMAL, ">");
		}
		draw_printf(a, line + 2, 2, ROLE_NORMAL, "[%c] %-10s %s",
			    columns_hidden(table(c)->view, x->title) ? ' ' : 'x', x->title,
			    what ? what : "");
		draw_overlay(-1);
	}
}

static unsigned action(struct view *v, enum action r)
{
	struct columns_page *c = (struct columns_page *)v;

	if (list_action(&c->list, r, id_of, c))
		return VIEW_DRAW;
	if (r != ACT_COLUMN_TOGGLE)
		return r == ACT_COLUMNS ? VIEW_CLOSE : VIEW_IGNORED;
	if (c->list.at < c->count) {
		enum view_id view = table(c)->view;
		const char *title = column_at(c, c->list.at)->title;
		if (!columns_hide(view, title, !columns_hidden(view, title)))
			status_error("hidden columns: that is too many");
		else
			status_say(":write-config saves it");
	}
	return VIEW_DRAW;
}

static void free_page(struct view *v)
{
	free(v);
}

static const struct view_ops ops = {
	.title = "Columns",
	.no_filter = true,
	.foci = view_keys,
	.keys = { FOCUS_COLUMNS, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.action = action,
	.free = free_page,
};

struct view *view_columns_new(struct ui *ui, struct view *of)
{
	struct columns_page *c = xcalloc(1, sizeof *c);

	c->v = (struct view){ &ops, ui };
	c->of = of;
	return &c->v;
}
