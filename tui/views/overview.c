/* SPDX-License-Identifier: MIT
 *
 * overview.c - the first screen: graphs, then the call sites by the shape of their growth, so that
 * a likely leak comes first without a key press.
 */
#include "views/amounts.h"
#include "views/sites.h"
#include "views/views.h"
#include "widgets/graph.h"
#include "screen/term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct value judged(const struct site *s, int64_t n)
{
	return (struct value){ .n = n,
			       .known = s->intervals ? KNOWN : KNOWN_NOT,
			       .estimate = s->amounts.sampled != 0 };
}

static struct value growth(const struct line *l)
{
	const struct site *s = l->row;

	return judged(s, s->net_window);
}

static struct value growth_per_minute(const struct line *l)
{
	const struct site *s = l->row;

	return judged(s, s->net_per_min);
}

static struct value grew(const struct line *l)
{
	const struct site *s = l->row;

	return (struct value){ .n = s->grew, .known = s->intervals ? KNOWN : KNOWN_NOT };
}

static void draw_grew(const struct line *l, struct cell c)
{
	const struct site *s = l->row;
	char text[32];

	snprintf(text, sizeof text, "%u of %u", s->grew, s->intervals);
	draw_right(c.a, c.y, c.x, c.w, s->intervals ? ROLE_NUMBER : ROLE_DIM,
		   s->intervals ? text : "-");
}

static void draw_shape(const struct line *l, struct cell c)
{
	cell_shape(c, l->row);
}

static void draw_trend(const struct line *l, struct cell c)
{
	const struct site *s = l->row;
	uint64_t live[MTW_SAMPLES_MAX + 1];

	memcpy(live, s->trend, s->trend_count * sizeof *live);
	live[s->trend_count] = s->trend_end;
	graph_spark(c.a, c.y, c.x, c.w, draw_owner_role(cells_letter(s->owner)), live,
		    s->trend_count + 1ul);
}

static void draw_at(const struct line *l, struct cell c)
{
	const struct site *s = l->row;

	cell_file(c, s->file, s->line);
}

static COLUMN(shape, "SHAPE", 11, -1, KIND_OWN, .own = draw_shape);
static COLUMN(growth, "NET", 9, -1, KIND_NET, .value = growth);
static COLUMN(per_minute, "/MIN", 9, -1, KIND_NET, .value = growth_per_minute);
static COLUMN(grew, "GREW IN", 8, -1, KIND_COUNT, .value = grew, .own = draw_grew);
static COLUMN(trend, "TREND", 10, -1, KIND_OWN, .own = draw_trend);
static COLUMN(at, "AT", 18, -1, KIND_OWN, .wide = 22, .own = draw_at);

static const struct table_column columns[] = {
	SHOW(shape, 3), SHOW(live),     SHOW(growth, 4), SHOW(per_minute, 2), SHOW(grew, 6),
	SHOW(age, 5),   SHOW(trend, 5), SHOW(site),      SHOW(at, 7),         SHOW(owner, 1),
};

/* Of all processes, whose blocks have no ages. */
static const struct table_column of_all[] = {
	SHOW(shape, 3), SHOW(live),     SHOW(growth, 4), SHOW(per_minute, 2), SHOW(grew, 6),
	SHOW(procs, 2), SHOW(trend, 5), SHOW(site),      SHOW(at, 7),         SHOW(owner, 1),
};

/* Since a mark: its NET, and not that of the growth's window. */
#define SINCE(beside)                                                                              \
	SHOW(shape, 3), SHOW(live), SHOW(born, 5), SHOW(gone, 5), SHOW(net, 2),                    \
		SHOW(per_minute, 4), SHOW(grew, 7), beside, SHOW(trend, 7), SHOW(site),            \
		SHOW(at, 8), SHOW(owner, 1)
static const struct table_column since[] = { SINCE(SHOW(age, 6)) };
static const struct table_column all_since[] = { SINCE(SHOW(procs, 2)) };

#define OVERVIEW(columns)                                                                          \
	TABLE(VIEW_OVERVIEW, columns, struct site, site_list_dim, site_list_id, table_view_hit)
static const struct table tables[] = { OVERVIEW(columns), OVERVIEW(of_all), OVERVIEW(since),
				       OVERVIEW(all_since) };

static size_t shows(const struct view *v)
{
	return procs_known(v->ui) + (table_view_shows(v) == TABLE_SINCE ? 2 : 0);
}

/* Until the user chose a row, the first is the one that matters now. */
static void ask(struct view *v, bool resort)
{
	struct site_list *s = (struct site_list *)v;
	bool shown = table_shows(view_table(v), term_columns(), &column_age);

	site_list_ask(s, BY_GROWTH, resort || !s->t.list.touched, ages_wanted(shown, BY_GROWTH));
}

int view_overview_graph_height(void)
{
	return term_rows() >= 20 && term_columns() >= 60 ? (term_rows() - 4) * 2 / 5 : 0;
}

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
static const char *net_over(const struct site_list *s, char out[64])
{
	char span[32], from[48];

	if (table_view_shows(&s->t.v) == TABLE_SINCE) {
		interval_name(s->t.v.ui->shown.model, true, from, sizeof from);
		snprintf(out, 64, ", NET %s", from);
		return out;
	}
	if (!s->window_ns || !table_shows(view_table(&s->t.v), term_columns(), &column_growth))
		return "";
	snprintf(out, 64, ", NET over %s", text_span(span, s->window_ns));
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
		snprintf(out, size, "%s of %s grow%s", growing, count, net_over(s, over));
	else
		snprintf(out, size, "%s site%s, %s grow%s steadily%s", count, format_s(s->count),
			 growing, grow == 1 ? "s" : "", net_over(s, over));
}

static unsigned action(struct view *v, enum action r)
{
	struct site_list *o = (struct site_list *)v;

	if (table_view_graph_action(v, r) == VIEW_DRAW)
		return VIEW_DRAW;
	switch (r) {
	case ACT_FOCUS_NEXT:
	case ACT_FOCUS_PREV:
		o->t.graph_focus = !o->t.graph_focus && view_overview_graph_height() > 4;
		return VIEW_DRAW;
	case ACT_SORT_LEFT:
	case ACT_SORT_RIGHT:
	case ACT_REVERSE:
		status_say("the Overview sorts by shape and growth; Sites (3) sorts by any column");
		return VIEW_DRAW;
	default: return site_list_action(v, r);
	}
}

static const struct view_ops ops = {
	.tables = tables,
	.shows = shows,
	.foci = table_view_foci,
	.keys = { FOCUS_SITES, FOCUS_LIST },
	.ask = ask,
	.make = site_list_make,
	.take = site_list_take,
	.draw = draw,
	.action = action,
	.escape = table_view_escape,
	.caption = caption,
	.row = site_list_row,
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
