/* SPDX-License-Identifier: MIT
 *
 * sites.c - the lower half of Marks: NET of each call site in each interval between the
 * marks from A to B. The columns depend on the marks; a row's cells add up to its TOTAL.
 */
#include "views/marks/marks.h"

#include "views/amounts.h"
#include "views/sites.h"

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
	return ((struct marks *)arg)->changes.list[i].site.id;
}

void marks_lower_take(struct marks *m)
{
	struct intervals_kept was = m->changes;

	m->changes = m->made;
	m->made = was;
	m->interval_count = m->changes.count ? m->changes.list[0].count : 0;
	m->lower.rows = m->changes.list;
	list_update(&m->lower, m->changes.count, id_of, NULL, m);
}

/* Columns: shape, the newest intervals, total, live, site, owner. */
static size_t shown_intervals(const struct marks *m)
{
	return m->interval_count < 2                ? 0
	       : m->interval_count < MARK_INTERVALS ? m->interval_count
						    : MARK_INTERVALS;
}

/* A shape needs three marks, however long they are apart. */
static void draw_shape(const struct line *l, struct cell c)
{
	const struct interval_row *r = l->row;

	if (r->site.shape != SHAPE_YOUNG) /* its dot would look like the selection's, beside it */
		cell_shape(c, &r->site);
}

static struct value net_of(const struct interval_row *r, size_t from, size_t to)
{
	struct value v = { .estimate = r->site.amounts.sampled != 0 };

	for (size_t i = from; i < to; i++)
		v.n += r->net[i];
	return v;
}

static struct value in_interval(const struct line *l)
{
	const struct interval_row *r = l->row;
	size_t i = r->count - shown_intervals(l->view) + l->column - 1;

	return net_of(r, i, i + 1);
}

static struct value in_all(const struct line *l)
{
	const struct interval_row *r = l->row;

	return net_of(r, 0, r->count);
}

static COLUMN(shape, "SHAPE", 11, -1, KIND_OWN, .own = draw_shape);
static COLUMN(total, "TOTAL", 9, -1, KIND_NET, .value = in_all);

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
	struct column intervals[MARK_INTERVALS];
	struct table_column columns[TABLE_COLUMNS_MAX];

	interval_titles(m, n, titles);
	columns[k++] = (struct table_column)SHOW(shape, 4);
	for (size_t i = 0; i < n; i++) {
		intervals[i] = (struct column){ .title = titles[i],
						.width = 9,
						.sort = -1,
						.kind = KIND_NET,
						.value = in_interval };
		columns[k++] = (struct table_column){ .is = &intervals[i], .rank = (short)(9 - i) };
	}
	columns[k++] = (struct table_column)SHOW(total);
	columns[k++] = (struct table_column)SHOW(live, 3);
	columns[k++] = (struct table_column)SHOW(site);
	columns[k++] = (struct table_column)SHOW(owner, 1);
	struct table table = { VIEW_COUNT, columns, k, sizeof *m->changes.list, NULL, id_of, NULL };
	snprintf(title, sizeof title, "%s > %s, net by call site", marks_label(m->a, from),
		 marks_label(m->b, to));
	draw_rule(a, 0, m->lower_focus ? ROLE_BORDER_FOCUS : ROLE_BORDER, title);
	struct area list = area_sub(a, 1, 0, a->h - 1, -1);
	table_draw(&table, &list, &m->lower, m, SORT_NONE, false, m->lower_focus);
	if (!m->changes.count)
		draw_text(&list, 2, 3, ROLE_DIM,
			  m->count <= 2
				  ? (ui_linked(m->v.ui) ? "no mark to compare with yet: s sets one"
							: "no mark to compare with")
				  : "no call site changed between them");
}

unsigned marks_lower_action(struct marks *m, enum action r)
{
	struct ui *ui = m->v.ui;

	if (list_action(&m->lower, r, id_of, m))
		return VIEW_DRAW;
	if (!m->changes.count)
		return VIEW_IGNORED;
	const struct site *s = &m->changes.list[m->lower.at].site;
	switch (r) {
	case ACT_SITE_TREE: return ui->ops->show_node(ui, s->leaf);
	case ACT_SITE_DETAIL: return ui->ops->show_detail(ui, s->leaf, false, s->stacks);
	case ACT_EXPECT: return ui->ops->expect(ui, s);
	case ACT_SITE_ZOOM:
		if (!s->owner)
			return VIEW_DRAW;
		return ui->ops->show_owner(ui, s->owner->module, s->owner->name);
	default: return VIEW_IGNORED;
	}
}
