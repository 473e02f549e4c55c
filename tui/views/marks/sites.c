/* SPDX-License-Identifier: MIT
 *
 * sites.c - the lower half of Marks: NET of each call site in each interval between the
 * marks from A to B. The columns depend on the marks; a row's cells add up to its TOTAL.
 */
#include "views/marks/marks.h"

#include "widgets/cells.h"

#include <string.h>

enum { SORT_NONE = -2 };

char *marks_label(uint32_t id, char *out)
{
	if (id == 0)
		return strcpy(out, "start");
	if (id == MARK_NOW)
		return strcpy(out, "now");
	snprintf(out, 32, "m%u", id);
	return out;
}

static uint64_t id_of(void *arg, size_t i)
{
	return ((struct marks *)arg)->changes[i].site.id;
}

void marks_lower_refresh(struct marks *m, bool resort)
{
	uint32_t to = m->b == MARK_NOW ? 0 : m->b;

	(void)resort;
	m->change_count = query_intervals(m->v.ui->shown.query, m->a, to, &m->changes);
	m->interval_count = m->change_count ? m->changes[0].count : 0;
	list_update(&m->lower, m->change_count, id_of, NULL, m);
}

static int64_t total(const struct interval_row *r)
{
	int64_t sum = 0;

	for (size_t i = 0; i < r->count; i++)
		sum += r->net[i];
	return sum;
}

/* Columns: shape, the newest intervals, total, live, site, owner. */
static size_t shown_intervals(const struct marks *m)
{
	return m->interval_count < 2                ? 0
	       : m->interval_count < MARK_INTERVALS ? m->interval_count
						    : MARK_INTERVALS;
}

static void cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x, int w)
{
	struct marks *m = arg;
	const struct interval_row *r = &m->changes[row];
	size_t n = shown_intervals(m);
	struct cell c = { a, y, x, w, r->site.estimate };

	/* A shape needs three marks, however long they are apart. */
	if (column == 0 && r->site.shape == SHAPE_YOUNG)
		return; /* its dot would look like the selection's, beside it */
	if (column == 0)
		cell_shape(c, &r->site);
	else if (column <= n)
		cell_net(c, r->net[r->count - n + column - 1]);
	else if (column == n + 1)
		cell_net(c, total(r));
	else if (column == n + 2)
		cell_live(c, live_bytes(&r->site.sum));
	else if (column == n + 3)
		cell_site(c, &r->site);
	else
		cell_owner(c, cells_letter(r->site.owner),
			   r->site.owner ? r->site.owner->name : "?");
}

/* Titles of the intervals, from the rows between A and B. */
static void interval_titles(const struct marks *m, size_t n, char titles[][32])
{
	size_t b = 0;

	while (b + 1 < m->count && m->rows[b].id != m->b)
		b++;
	for (size_t i = 0; i < n; i++) {
		size_t to = b >= n - 1 - i ? b - (n - 1 - i) : 0;
		char from_name[32], to_name[32];
		marks_label(to ? m->rows[to - 1].id : 0, from_name);
		snprintf(titles[i], 32, "%.10s>%.10s", from_name,
			 marks_label(m->rows[to].id, to_name));
	}
}

void marks_lower_draw(struct marks *m, const struct area *a)
{
	size_t n = shown_intervals(m), k = 0;
	char titles[MARK_INTERVALS][32], title[96], from[32], to[32];
	struct column columns[TABLE_COLUMNS_MAX];

	interval_titles(m, n, titles);
	columns[k++] = (struct column){
		.title = "SHAPE", .width = 11, .rank = 4, .sort = -1, .left = true
	};
	for (size_t i = 0; i < n; i++)
		columns[k++] = (struct column){ .title = titles[i],
						.width = 9,
						.bytes = SIZE_HELD,
						.rank = (short)(9 - i),
						.sort = -1 };
	columns[k++] =
		(struct column){ .title = "TOTAL", .width = 9, .bytes = SIZE_HELD, .sort = -1 };
	columns[k++] = (struct column){
		.title = "LIVE", .width = 8, .bytes = SIZE_HELD, .rank = 3, .sort = -1
	};
	columns[k++] = (struct column){ .title = "CALL SITE < CALLER", .sort = -1, .left = true };
	columns[k++] = (struct column){ .title = "OWNER",
					.direct = DIRECT_CALLER,
					.width = 14,
					.wide = 20,
					.rank = 1,
					.sort = -1,
					.left = true };
	struct table table = { "Marks", columns, k, cell, NULL, id_of, NULL };
	snprintf(title, sizeof title, "%s > %s, net by call site", marks_label(m->a, from),
		 marks_label(m->b, to));
	draw_rule(a, 0, m->lower_focus ? ROLE_BORDER_FOCUS : ROLE_BORDER, title);
	struct area list = area_sub(a, 1, 0, a->h - 1, -1);
	table_draw(&table, &list, &m->lower, m, SORT_NONE, false, m->lower_focus);
	if (!m->change_count)
		draw_text(&list, 2, 3, ROLE_DIM,
			  m->count <= 2 ? (watch_live(m->v.ui->shown.watch)
						   ? "no mark to compare with yet: s sets one"
						   : "no mark to compare with")
					: "no call site changed between them");
}

unsigned marks_lower_request(struct marks *m, enum request r)
{
	struct ui *ui = m->v.ui;

	if (list_request(&m->lower, r, id_of, m))
		return VIEW_DRAW;
	if (!m->change_count)
		return VIEW_IGNORED;
	const struct site *s = &m->changes[m->lower.at].site;
	switch (r) {
	case REQ_SITE_TREE: return ui->ops->show_node(ui, s->leaf);
	case REQ_SITE_DETAIL: return ui->ops->show_detail(ui, s->leaf, false, s->stacks);
	case REQ_EXPECT: return ui->ops->expect(ui, s);
	case REQ_SITE_ZOOM:
		if (!s->owner)
			return VIEW_DRAW;
		return ui->ops->show_owner(ui, s->owner->module, s->owner->name);
	default: return VIEW_IGNORED;
	}
}
