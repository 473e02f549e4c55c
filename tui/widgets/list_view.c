/* SPDX-License-Identifier: MIT
 *
 * list_view.c - lists and tables (see widgets/list_view.h).
 */
#include "widgets/list_view.h"

#include "widgets/cells.h"
#include "widgets/columns.h"
#include "widgets/mouse.h"
#include "screen/term.h"

#include <string.h>

#define NAME_MIN 28 /* columns that the flexible column wants before others are shown */
#define RANK_MORE 5 /* from this rank on, columns yield to its preferred width */

static void keep_in_view(struct list *l)
{
	size_t h = l->height > 0 ? (size_t)l->height : 1;

	if (l->at >= l->count)
		l->at = l->count ? l->count - 1 : 0;
	if (l->at < l->top)
		l->top = l->at;
	if (l->at >= l->top + h)
		l->top = l->at - h + 1;
	if (l->top + h > l->count)
		l->top = l->count > h ? l->count - h : 0;
}

static size_t find_by_scan(const struct list *l, size_t count, list_id_fn *id, void *arg)
{
	if (l->at < count && id(arg, l->at) == l->id)
		return l->at;
	for (size_t i = 0; i < count; i++)
		if (id(arg, i) == l->id)
			return i;
	return LIST_NONE;
}

void list_update(struct list *l, size_t count, list_id_fn *id, list_find_fn *find, void *arg)
{
	size_t line = l->at - l->top, found;

	l->count = count;
	if (!l->touched || l->first) {
		l->at = l->top = 0;
	} else if (count) {
		found = find ? find(arg, l->id) : find_by_scan(l, count, id, arg);
		if (found != LIST_NONE && found < count) {
			l->at = found;
			l->top = found > line ? found - line : 0;
		}
	}
	keep_in_view(l);
	if (count)
		l->id = id(arg, l->at);
}

void list_select(struct list *l, size_t index, list_id_fn *id, void *arg)
{
	l->at = index;
	l->touched = true;
	l->first = false;
	keep_in_view(l);
	if (l->count)
		l->id = id(arg, l->at);
}

void list_hold(struct list *l)
{
	l->touched = true;
	l->first = false;
}

bool list_action(struct list *l, enum action r, list_id_fn *id, void *arg)
{
	size_t h = l->height > 1 ? (size_t)l->height : 1, last = l->count ? l->count - 1 : 0,
	       step = 0;
	bool up = r == ACT_UP || r == ACT_PAGE_UP || r == ACT_HALF_UP || r == ACT_FIRST;

	switch (r) {
	case ACT_UP:
	case ACT_DOWN: step = 1; break;
	case ACT_PAGE_UP:
	case ACT_PAGE_DOWN: step = h > 1 ? h - 1 : 1; break;
	case ACT_HALF_UP:
	case ACT_HALF_DOWN: step = (h + 1) / 2; break;
	case ACT_FIRST:
	case ACT_LAST: step = l->count; break;
	default: return false;
	}
	if (!l->count) /* the row that was selected stays it, should it come back */
		return true;
	if (up)
		list_select(l, l->at > step ? l->at - step : 0, id, arg);
	else
		list_select(l, last - l->at > step ? l->at + step : last, id, arg);
	l->first = r == ACT_FIRST;
	return true;
}

void list_next(struct list *l, bool backwards, bool (*matches)(void *arg, size_t row),
	       list_id_fn *id, void *arg)
{
	for (size_t n = 1; n <= l->count; n++) {
		size_t i = (l->at + (backwards ? l->count - n : n)) % l->count;
		if (matches(arg, i)) {
			list_select(l, i, id, arg);
			return;
		}
	}
}

const enum focus *view_keys(struct view *v)
{
	return v->ops->keys;
}

void list_fit(struct list *l, int height)
{
	l->height = height;
	keep_in_view(l);
}

struct layout {
	int x[TABLE_COLUMNS_MAX], w[TABLE_COLUMNS_MAX]; /* w 0 = left out */
};

static int usual_width(const struct table_column *c)
{
	return c->width ? c->width : c->is->width;
}

static int wide_width(const struct table_column *c)
{
	return c->wide ? c->wide : c->is->wide;
}

static int width_of(const struct table_column *c, int width)
{
	if (!usual_width(c))
		return 0;
	return (width >= 110 && wide_width(c) ? wide_width(c) : usual_width(c)) +
	       cells_wider(c->is->kind);
}

static void lay_out(const struct table *t, int width, struct layout *lo)
{
	bool shown[TABLE_COLUMNS_MAX];
	int flexible, likes = NAME_MIN;

	for (size_t i = 0; i < t->count; i++) {
		const struct table_column *c = &t->columns[i];
		shown[i] = !c->rank || !columns_hidden(t->view, c->is->title);
		if (!usual_width(c) && wide_width(c) > likes)
			likes = wide_width(c);
	}
	for (;;) {
		size_t worst = t->count;
		flexible = width - 2;
		for (size_t i = 0; i < t->count; i++) {
			const struct table_column *c = &t->columns[i];
			if (!shown[i] || !usual_width(c))
				continue;
			flexible -= 1 + width_of(c, width);
			if (c->rank && (worst == t->count || c->rank > t->columns[worst].rank))
				worst = i;
		}
		if (worst == t->count ||
		    flexible >= (t->columns[worst].rank < RANK_MORE ? NAME_MIN : likes))
			break;
		shown[worst] = false;
	}
	for (size_t i = 0, x = 1; i < t->count; i++) {
		const struct table_column *c = &t->columns[i];
		lo->w[i] = !shown[i] ? 0 : usual_width(c) ? width_of(c, width) : flexible;
		if (lo->w[i] < 0)
			lo->w[i] = 0;
		lo->x[i] = (int)x;
		x += lo->w[i] ? (size_t)lo->w[i] + 1 : 0;
	}
}

bool table_shows(const struct table *t, int width, const struct column *column)
{
	struct layout lo;

	lay_out(t, width, &lo);
	for (size_t i = 0; i < t->count; i++)
		if (t->columns[i].is == column)
			return lo.w[i] > 0;
	return false;
}

static struct line line_of(const struct table *t, const struct list *l, void *arg, size_t row)
{
	return (struct line){ (const char *)l->rows + row * t->row_size, arg, row, 0 };
}

bool table_finds(const struct table *t, const struct list *l, void *arg, size_t row,
		 const char *text)
{
	struct line of = line_of(t, l, arg, row);

	for (; of.column < t->count; of.column++)
		if (column_finds(t->columns[of.column].is, &of, text))
			return true;
	return false;
}

static bool direct;

void table_direct(bool on)
{
	direct = on;
}

static void draw_head(const struct table *t, const struct area *a, const struct layout *lo,
		      int sort, bool reverse)
{
	draw_fill(a, 0, 0, -1, ROLE_HEAD);
	for (size_t i = 0; i < t->count; i++) {
		const struct column *c = t->columns[i].is;
		bool sorted = c->sort >= 0 && c->sort == sort;
		char title[64];
		if (!lo->w[i])
			continue;
		snprintf(title, sizeof title, "%s%s", direct && c->direct ? c->direct : c->title,
			 sorted ? text_glyph(reverse ? GLYPH_UP : GLYPH_DOWN) : "");
		enum role r = sorted ? ROLE_HEAD_SORTED : ROLE_HEAD;
		mouse_head(a, 0, lo->x[i], lo->w[i], t, c->sort, sort);
		if (c->kind == KIND_OWN)
			draw_clip(a, 0, lo->x[i], lo->w[i], r, CLIP_END, title);
		else
			draw_right(a, 0, lo->x[i], lo->w[i], r, title);
	}
}

void table_draw(const struct table *t, const struct area *a, struct list *l, void *arg, int sort,
		bool reverse, bool focus)
{
	struct layout lo;

	lay_out(t, a->w, &lo);
	draw_head(t, a, &lo, sort, reverse);
	list_fit(l, a->h - 1);
	mouse_rows(a, 1, l, t->id, arg, focus);
	names_begin();
	for (int line = 0; line < l->height && l->top + (size_t)line < l->count; line++) {
		size_t row = l->top + (size_t)line;
		bool here = row == l->at;
		struct line of = line_of(t, l, arg, row);
		if (here) {
			draw_overlay(focus ? ROLE_SELECTED : ROLE_SELECTED_IDLE);
			draw_fill(a, line + 1, 0, -1, ROLE_NORMAL);
			draw_text(a, line + 1, 0, ROLE_NORMAL, focus ? ">" : text_glyph(GLYPH_DOT));
		} else if (t->dim && t->dim(arg, row)) {
			draw_overlay(ROLE_DIM);
		}
		for (size_t i = 0; i < t->count; i++) {
			struct cell c = { a, line + 1, lo.x[i], lo.w[i], false };
			of.column = i;
			if (lo.w[i])
				column_draw(t->columns[i].is, &of, c);
		}
		for (size_t i = 0; t->hit && i < t->count; i++)
			/* The sign stands before the name, also in the selected row. */
			if (!usual_width(&t->columns[i]) && t->hit(arg, row))
				draw_text(a, line + 1, lo.x[i] - 1, ROLE_HIT,
					  text_glyph(GLYPH_HIT));
		draw_overlay(-1);
	}
	names_end();
}

static int column_of_sort(const struct table *t, int sort)
{
	for (int i = 0; i < (int)t->count; i++)
		if (t->columns[i].is->sort >= 0 && t->columns[i].is->sort == sort)
			return i;
	return -1;
}

int table_sort_next(const struct table *t, int sort, int step)
{
	int n = (int)t->count;

	for (int i = column_of_sort(t, sort) + step; i >= 0 && i < n; i += step)
		if (t->columns[i].is->sort >= 0)
			return t->columns[i].is->sort;
	return sort;
}

const struct column *table_sorted_by(const struct table *t, int sort)
{
	int column = column_of_sort(t, sort);

	return column < 0 ? NULL : t->columns[column].is;
}

bool table_shows_sort(const struct table *t, int sort)
{
	const struct column *by = table_sorted_by(t, sort);

	return by && table_shows(t, term_columns(), by);
}

int table_sort_beside(const struct table *t, int sort, int step)
{
	for (int at = sort, next; (next = table_sort_next(t, at, step)) != at; at = next)
		if (table_shows_sort(t, next))
			return next;
	return sort;
}
