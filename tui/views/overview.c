/* SPDX-License-Identifier: MIT
 *
 * overview.c - the first screen: graphs, then the call sites by the shape of their growth, so that
 * a likely leak comes first without a key press.
 */
#include "views/views.h"
#include "widgets/cells.h"
#include "widgets/graph.h"
#include "views/sites.h"
#include "screen/term.h"

#include <math.h>
#include <stdlib.h>

enum { C_SHAPE, C_LIVE, C_NET, C_MIN, C_INTERVALS, C_AGE, C_TREND, C_SITE, C_PLACE, C_OWNER };

static const struct column columns[] = {
	[C_SHAPE] = { .title = "SHAPE", .width = 11, .rank = 3, .sort = -1, .left = true },
	[C_LIVE] = { .title = "LIVE", .width = 8, .bytes = SIZE_HELD, .sort = -1 },
	[C_NET] = { .title = "NET", .width = 9, .bytes = SIZE_HELD, .rank = 4, .sort = -1 },
	[C_MIN] = { .title = "/MIN", .width = 9, .bytes = SIZE_HELD, .rank = 2, .sort = -1 },
	[C_INTERVALS] = { .title = "GREW IN", .width = 8, .rank = 6, .sort = -1 },
	[C_AGE] = { .title = "AGE", .width = 7, .rank = 5, .sort = -1 },
	[C_TREND] = { .title = "TREND", .width = 10, .rank = 5, .sort = -1, .left = true },
	[C_SITE] = { .title = "CALL SITE < CALLER", .sort = -1, .left = true },
	[C_PLACE] = { .title = "AT", .width = 18, .wide = 22, .rank = 7, .sort = -1, .left = true },
	[C_OWNER] = { .title = "OWNER",
		      .direct = DIRECT_CALLER,
		      .width = 14,
		      .wide = 20,
		      .rank = 1,
		      .sort = -1,
		      .left = true },
};

static const struct table table;

/* Until the user chose a row, the first is the one that matters now. */
static void refresh(struct view *v, bool resort)
{
	struct site_list *s = (struct site_list *)v;

	s->count = query_sites(v->ui->shown.query, BY_GROWTH, false, resort || !s->t.list.touched,
			       &s->rows);
	table_view_update(v, s->count, NULL);
	ages_take(&s->ages, v->ui, true,
		  ages_wanted(table_shows(&table, term_columns(), C_AGE), BY_GROWTH), &s->t.list,
		  site_list_id, s);
}

/* --- drawing */

int view_overview_graph_height(void)
{
	return term_rows() >= 20 && term_columns() >= 60 ? (term_rows() - 4) * 2 / 5 : 0;
}

static void cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x, int w)
{
	const struct site *r = site_list_at(arg, row);
	struct cell c = { a, y, x, w, r->estimate };
	char text[32];

	switch (column) {
	case C_SHAPE: cell_shape(c, r); break;
	case C_LIVE: cell_live(c, live_bytes(&r->sum)); break;
	case C_NET: cell_net(c, r->net_window); break;
	case C_MIN: cell_net(c, r->net_per_min); break;
	case C_INTERVALS:
		snprintf(text, sizeof text, "%u of %u", r->grew, r->intervals);
		draw_right(a, y, x, w, r->intervals ? ROLE_NUMBER : ROLE_DIM,
			   r->intervals ? text : "-");
		break;
	case C_AGE:
		cell_age(c, ages_at(&((struct site_list *)arg)->ages, row, r->id), false);
		break;
	case C_TREND:
		graph_spark(a, y, x, w, draw_owner_role(cells_letter(r->owner)), r->trend,
			    r->trend_count);
		break;
	case C_SITE: cell_site(c, r); break;
	case C_PLACE: cell_file(c, r->file, r->line); break;
	case C_OWNER: cell_owner(c, cells_letter(r->owner), r->owner ? r->owner->name : "?"); break;
	}
}

static const struct table table = {
	"Overview",   columns,       sizeof columns / sizeof columns[0], cell, site_list_dim,
	site_list_id, table_view_hit
};

/* "alloc 88.2k", or "alloc -" where the instant has no rate. */
static void label_rate(char *out, size_t size, const char *what, const struct ui *ui,
		       enum graph_rate which)
{
	const struct figures *f = &ui->shown.figures;
	double rate = graph_rate_at(f, &ui->shown.time, which);
	char number[32] = "-";

	if (!isnan(rate))
		text_short(number, rate);
	snprintf(out, size, "%s %s%s", what, f->estimate ? "~" : "", number);
}

static void draw_graphs(const struct site_list *o, const struct area *a)
{
	const struct ui *ui = o->t.v.ui;
	const struct figures *f = &ui->shown.figures;
	int right = a->w / 3 < 24 ? 24 : a->w / 3;
	char title[96], span[32], label[48];
	struct area left_box = area_sub(a, 0, 0, a->h, a->w - right),
		    right_box = area_sub(a, 0, a->w - right, a->h, right);

	graph_span(span, graph_window(f, &ui->shown.time));
	struct area in = draw_box(
		&left_box, graph_title(title, sizeof title, f, &ui->shown.time, o->t.graph_focus),
		o->t.graph_focus);
	graph_owners(&in, f, &ui->shown.time);
	snprintf(title, sizeof title, "Calls/s, %s", span);
	in = draw_box(&right_box, title, false);
	int half = (in.h - 1) / 2;
	struct area up = area_sub(&in, 0, 0, half, -1),
		    low = area_sub(&in, half, 0, in.h - 1 - half, -1);
	label_rate(label, sizeof label, "alloc", ui, GRAPH_ALLOC);
	graph_rate(&up, f, &ui->shown.time, GRAPH_ALLOC, ROLE_ALLOC, label);
	label_rate(label, sizeof label, "free", ui, GRAPH_FREE);
	graph_rate(&low, f, &ui->shown.time, GRAPH_FREE, ROLE_FREE, label);
	graph_axis(&in, in.h - 1, 7, in.w - 7, f, &ui->shown.time, false);
}

static void draw(struct view *v, const struct area *a)
{
	struct site_list *o = (struct site_list *)v;
	int graphs = view_overview_graph_height();
	struct area list = area_sub(a, graphs + 1, 0, a->h - graphs - 1, -1);

	if (graphs > 4 && model_program(v->ui->shown.model)) {
		struct area top = area_sub(a, 0, 0, graphs, -1);
		draw_graphs(o, &top);
	}
	table_view_draw_why(v, &list);
}

/* The graph above has a window of its own. */
static const char *net_over(struct ui *ui, char out[64])
{
	uint64_t window = query_window(ui->shown.query);
	char span[32];

	if (!window || !table_shows(&table, term_columns(), C_NET))
		return "";
	snprintf(out, 64, ", NET over %s", text_span(span, window));
	return out;
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	const struct site_list *s = (struct site_list *)v;
	char over[64], count[32], growing[32];
	size_t grow = 0;

	for (size_t i = 0; i < s->count; i++)
		grow += s->rows[i].shape == SHAPE_STEADY && !(s->rows[i].flags & ROW_EXPECTED);
	format_count(count, s->count);
	format_count(growing, grow);
	/* Growth is judged up to now, whatever interval the other views show. */
	if (interval_between(v->ui->shown.model))
		snprintf(out, size, brief ? "now" : "up to now; 2, 3, 4 diff the marks");
	else if (brief)
		snprintf(out, size, "%s of %s grow%s", growing, count, net_over(v->ui, over));
	else
		snprintf(out, size, "%s site%s, %s grow%s steadily%s", count, format_s(s->count),
			 growing, grow == 1 ? "s" : "", net_over(v->ui, over));
}

/* --- keys */

static unsigned request(struct view *v, enum request r)
{
	struct site_list *o = (struct site_list *)v;

	if (table_view_graph_request(v, r) == VIEW_DRAW)
		return VIEW_DRAW;
	switch (r) {
	case REQ_FOCUS_NEXT:
	case REQ_FOCUS_PREV:
		o->t.graph_focus = !o->t.graph_focus && view_overview_graph_height() > 4;
		return VIEW_DRAW;
	case REQ_SORT_LEFT:
	case REQ_SORT_RIGHT:
	case REQ_REVERSE:
		status_say("the Overview sorts by shape and growth; Sites (3) sorts by any column");
		return VIEW_DRAW;
	default: return site_list_request(v, r);
	}
}

static const struct table *columns_of(struct view *v)
{
	(void)v;
	return &table;
}

static const struct view_ops ops = {
	.title = "Overview",
	.brief = "Over",
	.table = columns_of,
	.foci = table_view_foci,
	.keys = { FOCUS_SITES, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.request = request,
	.escape = table_view_escape,
	.caption = caption,
	.row = site_list_row,
	.matches = site_list_match,
	.search = site_list_search,
	.next_hit = table_view_next_hit,
	.free = site_list_free,
};

struct view *view_overview_new(struct ui *ui)
{
	struct site_list *o = xcalloc(1, sizeof *o);

	o->t.v = (struct view){ &ops, ui };
	return &o->t.v;
}
