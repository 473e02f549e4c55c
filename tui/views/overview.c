/* SPDX-License-Identifier: MIT
 *
 * overview.c - the first screen: graphs, then the call sites by the shape of their growth, so
 * that what looks like a leak stands first without a key pressed.
 */
#include "app/app.h"
#include "widgets/cells.h"
#include "widgets/graph.h"
#include "views/sites.h"
#include "screen/term.h"

#include <stdlib.h>
#include <string.h>

struct overview {
	struct sites s; /* first */
	bool graph_focus;
};

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
		      .width = 14,
		      .wide = 20,
		      .rank = 1,
		      .sort = -1,
		      .left = true },
};

static uint64_t id_of(void *arg, size_t i)
{
	return sites_at(arg, i)->id;
}

static const struct table table;

/* Until the user chose a row, the first is the one that matters now. */
static void refresh(struct view *v, bool resort)
{
	struct sites *s = (struct sites *)v;

	s->count =
		query_sites(v->app->query, BY_GROWTH, false, resort || !s->list.touched, &s->rows);
	list_update(&s->list, s->count, id_of, NULL, s);
	ages_take(&s->ages, v->app, true,
		  ages_wanted(table_shows(&table, term_columns(), C_AGE), BY_GROWTH), &s->list,
		  id_of, s);
}

/* --- drawing */

static void cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x, int w)
{
	const struct site *r = sites_at(arg, row);
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
	case C_AGE: cell_age(c, ages_at(&((struct sites *)arg)->ages, row, r->id), false); break;
	case C_TREND:
		graph_spark(a, y, x, w, draw_owner_role(cells_letter(r->owner)), r->trend,
			    r->trend_count);
		break;
	case C_SITE: cell_site(c, r); break;
	case C_PLACE: cell_file(c, r->file, r->line); break;
	case C_OWNER: cell_owner(c, cells_letter(r->owner), r->owner ? r->owner->name : "?"); break;
	}
}

static bool dim(void *arg, size_t row)
{
	return (sites_at(arg, row)->flags & (ROW_ZERO | ROW_EXPECTED)) != 0;
}

static const struct table table = { "Overview", columns, sizeof columns / sizeof columns[0],
				    cell,       dim,     id_of,
				    sites_hit };

static void draw_graphs(const struct overview *o, const struct area *a)
{
	const struct app *app = o->s.v.app;
	const struct figures *f = &app->figures;
	int right = a->w / 3 < 24 ? 24 : a->w / 3;
	char title[96], span[32], label[48], number[32];
	struct area left_box = area_sub(a, 0, 0, a->h, a->w - right),
		    right_box = area_sub(a, 0, a->w - right, a->h, right);

	graph_span(span, graph_window(f, &app->time));
	struct area in =
		draw_box(&left_box, graph_title(title, sizeof title, f, &app->time, o->graph_focus),
			 o->graph_focus);
	graph_owners(&in, f, &app->time);
	snprintf(title, sizeof title, "Calls/s, %s", span);
	in = draw_box(&right_box, title, false);
	int half = (in.h - 1) / 2;
	struct area up = area_sub(&in, 0, 0, half, -1),
		    low = area_sub(&in, half, 0, in.h - 1 - half, -1);
	snprintf(label, sizeof label, "alloc %s%s", f->estimate ? "~" : "",
		 text_short(number, graph_rate_at(f, &app->time, GRAPH_ALLOC)));
	graph_rate(&up, f, &app->time, GRAPH_ALLOC, ROLE_ALLOC, label);
	snprintf(label, sizeof label, "free %s%s", f->estimate ? "~" : "",
		 text_short(number, graph_rate_at(f, &app->time, GRAPH_FREE)));
	graph_rate(&low, f, &app->time, GRAPH_FREE, ROLE_FREE, label);
	graph_axis(&in, in.h - 1, 7, in.w - 7, f, &app->time, false);
}

static void draw(struct view *v, const struct area *a)
{
	struct overview *o = (struct overview *)v;
	int graphs = frame_graph_height();
	struct area list = area_sub(a, graphs + 1, 0, a->h - graphs - 1, -1);

	if (graphs > 4 && model_program(v->app->model)) {
		struct area top = area_sub(a, 0, 0, graphs, -1);
		draw_graphs(o, &top);
	}
	table_draw(&table, &list, &o->s.list, &o->s, -2, false, !o->graph_focus);
	if (!o->s.count)
		draw_words(&list, 2, 3, ROLE_WARNING, frame_empty_reason(v->app));
}

/* The graph above has a window of its own. */
static const char *net_over(struct app *a, char out[64])
{
	uint64_t window = query_window(a->query);
	char span[32];

	if (!window || !table_shows(&table, term_columns(), C_NET))
		return "";
	snprintf(out, 64, ", NET over %s", text_span(span, window));
	return out;
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	const struct sites *s = (struct sites *)v;
	char over[64], count[32], growing[32];
	size_t grow = 0;

	for (size_t i = 0; i < s->count; i++)
		grow += s->rows[i].shape == SHAPE_STEADY && !(s->rows[i].flags & ROW_EXPECTED);
	text_count(count, s->count);
	text_count(growing, grow);
	if (action_between(v->app)) /* growth is judged up to now, whatever the others show */
		snprintf(out, size, brief ? "now" : "up to now; 2, 3, 4 diff the marks");
	else if (brief)
		snprintf(out, size, "%s of %s grow%s", growing, count, net_over(v->app, over));
	else
		snprintf(out, size, "%s site%s, %s grow%s steadily%s", count,
			 s->count == 1 ? "" : "s", growing, grow == 1 ? "s" : "",
			 net_over(v->app, over));
}

/* --- keys */

static unsigned request(struct view *v, enum request r)
{
	struct overview *o = (struct overview *)v;

	if (o->graph_focus &&
	    graph_request(&v->app->figures, &v->app->time, watch_now(v->app->watch), r))
		return VIEW_DRAW;
	switch (r) {
	case REQ_FOCUS_NEXT:
	case REQ_FOCUS_PREV:
		o->graph_focus = !o->graph_focus && frame_graph_height() > 4;
		return VIEW_DRAW;
	case REQ_SORT_LEFT:
	case REQ_SORT_RIGHT:
	case REQ_REVERSE:
		status_say("the Overview sorts by shape and growth; Sites (3) sorts by any column");
		return VIEW_DRAW;
	default: return sites_request(&o->s, r, id_of);
	}
}

static bool escape(struct view *v)
{
	struct overview *o = (struct overview *)v;
	bool was = o->graph_focus || v->app->time.at_ns;

	o->graph_focus = false;
	v->app->time.at_ns = 0;
	return was;
}

static const enum focus *foci(struct view *v)
{
	static const enum focus graph[] = { FOCUS_GRAPH, FOCUS_NONE };
	static const enum focus list[] = { FOCUS_SITES, FOCUS_LIST, FOCUS_NONE };

	return ((struct overview *)v)->graph_focus ? graph : list;
}

static void view_free(struct view *v)
{
	struct overview *o = (struct overview *)v;

	ages_release(&o->s.ages);
	free(o);
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
	.foci = foci,
	.refresh = refresh,
	.draw = draw,
	.request = request,
	.escape = escape,
	.caption = caption,
	.row = sites_row,
	.search = sites_search,
	.next_hit = sites_next_hit,
	.free = view_free,
};

struct view *view_overview_new(struct app *a)
{
	struct overview *o = xcalloc(1, sizeof *o);

	o->s.v = (struct view){ &ops, a };
	o->s.id = id_of;
	return &o->s.v;
}
