/* SPDX-License-Identifier: MIT
 *
 * libs.c - live memory by owner library, one row each; the rows sum to the totals. A graph above.
 */
#include "views/table_view.h"
#include "views/views.h"
#include "widgets/cells.h"
#include "widgets/graph.h"
#include "widgets/judgement.h"
#include "report/coverage.h"
#include "screen/term.h"

#include <stdlib.h>
#include <string.h>

struct libs {
	struct table_view t; /* first */
	struct owner *rows;  /* copies, in this view's order; owned */
	size_t count, room;
	struct diff_judgement *judged; /* of the rows, in a diff of sessions; owned */
	size_t judged_room;
};

enum { C_LIVE, C_PART, C_BLOCKS, C_RATE, C_NET, C_TREND, C_NAME };

static const struct column columns[] = {
	[C_LIVE] = { .title = "LIVE", .width = 9, .bytes = SIZE_HELD, .sort = BY_LIVE },
	[C_PART] = { .title = "%", .width = 4, .rank = 4, .sort = -1 },
	[C_BLOCKS] = { .title = "BLOCKS", .width = 8, .wide = 11, .rank = 3, .sort = BY_BLOCKS },
	[C_RATE] = { .title = "BYTES/s",
		     .width = 8,
		     .bytes = SIZE_HELD,
		     .rank = 5,
		     .sort = BY_RATE },
	[C_NET] = { .title = "NET", .width = 9, .bytes = SIZE_HELD, .rank = 1, .sort = BY_NET },
	[C_TREND] = { .title = "TREND",
		      .width = 12,
		      .wide = 24,
		      .rank = 6,
		      .sort = -1,
		      .left = true },
	[C_NAME] = { .title = "OWNER LIBRARY",
		     .direct = DIRECT_CALLER,
		     .left = true,
		     .sort = BY_NAME },
};

enum { D_BORN, D_GONE, D_NET, D_LIVE, D_BLOCKS, D_NAME };

/* clang-format off */
#define DIFF_COLUMNS(live) {                                                                       \
	[D_BORN] = { .title = "BORN", .width = 8, .bytes = SIZE_HELD, .rank = 2,                   \
	  .sort = BY_BORN },                                                                       \
	[D_GONE] = { .title = "GONE", .width = 8, .bytes = SIZE_HELD, .rank = 2,                   \
	  .sort = BY_GONE },                                                                       \
	[D_NET] = { .title = "NET", .width = 9, .bytes = SIZE_HELD, .sort = BY_NET },              \
	[D_LIVE] = { .title = (live), .width = 9, .bytes = SIZE_HELD, .rank = 4,                   \
	  .sort = BY_LIVE },                                                                       \
	[D_BLOCKS] = { .title = "BLOCKS+", .width = 8, .rank = 5, .sort = -1 },                    \
	[D_NAME] = { .title = "OWNER LIBRARY", .direct = DIRECT_CALLER, .left = true,              \
	  .sort = BY_NAME },                                                                       \
}
/* clang-format on */

static const struct column since_columns[] = DIFF_COLUMNS("LIVE");
/* which is not the interval's */
static const struct column between_columns[] = DIFF_COLUMNS("LIVE NOW");

enum { S_A, S_B, S_NET, S_KIND, S_BLOCKS, S_NAME };

static const struct column session_columns[] = {
	JUDGED_COLUMNS(2),
	[S_NAME] = { .title = "OWNER LIBRARY",
		     .direct = DIRECT_CALLER,
		     .left = true,
		     .sort = BY_NAME },
};

static uint64_t id_of(void *arg, size_t i)
{
	return ((struct libs *)arg)->rows[i].module;
}

static bool net_of(const struct libs *l, const struct owner *o, int64_t *net);

static int64_t value(const struct libs *l, const struct owner *o, int sort)
{
	int64_t net;

	switch (sort) {
	case BY_BLOCKS: return (int64_t)live_blocks(&o->sum);
	case BY_RATE: return (int64_t)o->rate_bytes;
	case BY_BORN: return (int64_t)o->change.born_bytes;
	case BY_GONE: return (int64_t)o->change.gone_bytes;
	case BY_NET: return net_of(l, o, &net) ? net : 0;
	default: return (int64_t)live_bytes(&o->sum);
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	struct libs *l = arg;
	const struct owner *x = a, *y = b;
	int sort = *table_view_sort(&l->t.v);
	int64_t vx = value(l, x, sort), vy = value(l, y, sort);
	int c = sort == BY_NAME ? strcmp(x->name, y->name) : vx < vy ? 1 : vx > vy ? -1 : 0;

	return l->t.reverse ? -c : c ? c : x->module < y->module ? -1 : 1;
}

static const struct owner *in_list(const struct owner *list, size_t n, uint32_t module)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].module == module)
			return &list[i];
	return NULL;
}

static void refresh(struct view *v, bool resort)
{
	struct libs *l = (struct libs *)v;
	const struct owner *now;
	size_t n = owners_update(v->ui->shown.owners, &now), kept = 0;

	GROW(l->rows, l->room, n + 1);
	for (size_t i = 0; i < l->count; i++) { /* known rows keep their order */
		const struct owner *o = in_list(now, n, l->rows[i].module);
		if (o)
			l->rows[kept++] = *o;
	}
	for (size_t i = 0; i < n; i++)
		if (!in_list(l->rows, kept, now[i].module))
			l->rows[kept++] = now[i];
	l->count = kept;
	if (resort || !l->t.list.touched)
		qsort_r(l->rows, l->count, sizeof *l->rows, compare, l);
	if (v->ui->compared) {
		GROW(l->judged, l->judged_room, l->count);
		diff_judge_owners(v->ui->compared, v->ui->shown.owners, l->rows, l->count,
				  l->judged);
	}
	table_view_update(v, l->count, NULL);
}

static const struct figure_owner *figure_of(const struct libs *l, const struct owner *o)
{
	const struct figures *f = &l->t.v.ui->shown.figures;

	for (size_t i = 0; i < f->owner_count; i++)
		if (f->owners[i].module == o->module)
			return &f->owners[i];
	return NULL;
}

/* The owner's growth: over the diff if there is one, else over the graph's time where the history
 * knows the owner. */
static bool net_of(const struct libs *l, const struct owner *o, int64_t *net)
{
	const struct figures *f = &l->t.v.ui->shown.figures;
	const struct figure_owner *known = figure_of(l, o);
	uint64_t window = graph_window(f, &l->t.v.ui->shown.time);
	size_t first = figures_point_at(f, f->time_ns > window ? f->time_ns - window : 0);

	*net = net_bytes(&o->change);
	if (table_view_diffing(&l->t))
		return true;
	*net = (int64_t)live_bytes(&o->sum);
	if (known && first != SIZE_MAX)
		*net -= (int64_t)known->series[first];
	return known && (first == SIZE_MAX ? !f->point_count || f->known[0] : f->known[first]);
}

static void name_cell(const struct libs *l, const struct owner *o, struct cell c)
{
	const struct module *m =
		o->module == OWNER_UNKNOWN ? NULL : model_module(l->t.v.ui->shown.model, o->module);
	const char *tail = m && m->flags & MTW_MODULE_GONE ? " (unloaded, blocks still live)" : "";
	const char *hooks = m && coverage_lacks(m->flags) ? coverage_word(m->flags) : NULL;
	char text[400];

	snprintf(text, sizeof text, "%.300s%s%s%s", o->name, tail, hooks ? ": " : "",
		 hooks ? hooks : "");
	cell_owner(c, cells_letter(o), text);
}

static void diff_cell(const struct libs *l, const struct owner *o, size_t column, struct cell c)
{
	switch (column) {
	case D_BORN: cell_bytes(c, o->change.born_bytes); break;
	case D_GONE: cell_bytes(c, o->change.gone_bytes); break;
	case D_NET: cell_net(c, net_bytes(&o->change)); break;
	case D_LIVE: cell_live(c, live_bytes(&o->sum)); break;
	case D_BLOCKS: cell_count_net(c, net_blocks(&o->change)); break;
	case D_NAME: name_cell(l, o, c); break;
	}
}

static void session_cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x,
			 int w)
{
	const struct libs *l = arg;
	const struct owner *o = &l->rows[row];
	struct cell c = { a, y, x, w, o->sampled != 0 };

	switch (column) {
	case S_A: cell_bytes(c, live_bytes(&o->sum) - (uint64_t)net_bytes(&o->change)); break;
	case S_B: cell_bytes(c, live_bytes(&o->sum)); break;
	case S_NET: cell_net(c, net_bytes(&o->change)); break;
	case S_KIND: judgement_cell(c, &l->judged[row]); break;
	case S_BLOCKS: cell_count_net(c, net_blocks(&o->change)); break;
	case S_NAME: name_cell(l, o, c); break;
	}
}

static void cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x, int w)
{
	struct libs *l = arg;
	const struct owner *o = &l->rows[row];
	const struct figures *f = &l->t.v.ui->shown.figures;
	const struct figure_owner *known;
	struct cell c = { a, y, x, w, o->sampled != 0 };
	int64_t net;

	if (table_view_diffing(&l->t)) {
		diff_cell(l, o, column, c);
		return;
	}
	switch (column) {
	case C_LIVE: cell_live(c, live_bytes(&o->sum)); break;
	case C_PART: cell_part(c, live_bytes(&o->sum), live_bytes(&f->totals.sum)); break;
	case C_BLOCKS: cell_count(c, live_blocks(&o->sum)); break;
	case C_RATE:
		if (figures_rated(f))
			cell_bytes(c, figures_over(f)
					      ? 0
					      : (uint64_t)model_per_second(l->t.v.ui->shown.model,
									   o->rate_bytes));
		else
			cell_unknown(c);
		break;
	case C_NET:
		if (net_of(l, o, &net))
			cell_net(c, net);
		break;
	case C_TREND:
		known = figure_of(l, o);
		if (known)
			graph_spark(a, y, x, w, draw_owner_role(o->letter),
				    known->series + figures_known_from(f),
				    f->point_count - figures_known_from(f));
		break;
	case C_NAME: name_cell(l, o, c); break;
	}
}

static bool dim(void *arg, size_t row)
{
	const struct libs *l = arg;
	const struct change *c = &l->rows[row].change;

	if (l->t.v.ui->compared && l->judged[row].noise)
		return true;
	if (interval_between(l->t.v.ui->shown.model) || model_of_sessions(l->t.v.ui->shown.model))
		return !(c->born_bytes | c->gone_bytes | c->born_blocks | c->gone_blocks);
	return live_bytes(&l->rows[row].sum) == 0;
}

static bool matches(struct view *v, size_t row, const char *text)
{
	return strcasestr(((struct libs *)v)->rows[row].name, text) != NULL;
}

static const struct table tables[4] = {
	{ "Libs", columns, sizeof columns / sizeof columns[0], cell, dim, id_of, table_view_hit },
	{ "Libs", since_columns, sizeof since_columns / sizeof since_columns[0], cell, dim, id_of,
	  table_view_hit },
	{ "Libs", between_columns, sizeof between_columns / sizeof between_columns[0], cell, dim,
	  id_of, table_view_hit },
	{ "Libs", session_columns, sizeof session_columns / sizeof session_columns[0], session_cell,
	  dim, id_of, table_view_hit },
};

static const struct table *table(const struct libs *l)
{
	if (model_of_sessions(l->t.v.ui->shown.model))
		return &tables[3];
	return &tables[table_view_diffing(&l->t) + interval_between(l->t.v.ui->shown.model)];
}

/* The agent was attached late: shows what was freed of earlier memory, and whose calls it sees. */
static void draw_late(const struct model *m, const struct area *a, int y)
{
	struct coverage_sums sums = coverage_sums(m);
	uint64_t frees, bytes;
	char n[32], b[32], unmatched[48] = "", text[256];

	coverage_before(m, &frees, &bytes);
	if (sums.unmatched)
		snprintf(unmatched, sizeof unmatched, ", %zu not matched", sums.unmatched);
	snprintf(
		text, sizeof text,
		"before attach: %s freed since, %s   hooked: %zu module%s%s, %zu call no allocator",
		format_count(n, frees), text_bytes(b, bytes), sums.hooked, format_s(sums.hooked),
		unmatched, sums.calls_none);
	draw_text(a, y, 0, ROLE_DIM, text);
}

/* Notes below the list about memory that it excludes. Returns the lines used. */
static int draw_unseen(const struct model *m, const struct area *a)
{
	struct coverage_sums sums = coverage_sums(m);
	int late = coverage_late(m), lines = 0;
	char text[256];

	if (a->h < 8)
		return 0;
	for (uint32_t id = 0; sums.not_hooked && id < model_module_count(m) && lines < a->h / 4;
	     id++) {
		const struct module *k = model_module(m, id);
		if (!k || !k->known || k->flags & MTW_MODULE_GONE || !coverage_lacks(k->flags))
			continue;
		snprintf(text, sizeof text, "not counted: %.120s, %s", k->name,
			 coverage_word(k->flags));
		draw_text(a, a->h - late - ++lines, 0, ROLE_WARNING, text);
	}
	if (late)
		draw_late(m, a, a->h - 1);
	return lines + late;
}

static void draw(struct view *v, const struct area *a)
{
	struct libs *l = (struct libs *)v;
	int graph = a->h >= 16 && a->w >= 60 && !model_of_sessions(l->t.v.ui->shown.model)
			    ? a->h / 2
			    : 0;
	struct area list = area_sub(a, graph, 0, a->h - graph, -1);
	char title[96];

	list = area_sub(&list, 0, 0, list.h - draw_unseen(v->ui->shown.model, &list), -1);

	if (graph) {
		struct area box = area_sub(a, 0, 0, graph, -1);
		graph_title(title, sizeof title, &v->ui->shown.figures, &v->ui->shown.time,
			    l->t.graph_focus);
		struct area in = draw_box(&box, title, l->t.graph_focus);
		graph_owners(&in, &v->ui->shown.figures, &v->ui->shown.time);
	}
	table_view_draw_why(v, &list);
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	struct libs *l = (struct libs *)v;
	char n[32], count[64] = "", interval[320];

	format_count(n, l->count);
	if (!brief)
		snprintf(count, sizeof count, "%s librar%s  ", n, l->count == 1 ? "y" : "ies");
	interval_name(v->ui->shown.model, brief, interval, sizeof interval);
	if (model_diffing(v->ui->shown.model))
		snprintf(out, size, "%s%s", count, interval);
	else if (!table_shows(table(l), term_columns(), C_NET))
		snprintf(out, size, "%s librar%s", n, l->count == 1 ? "y" : "ies");
	else
		snprintf(out, size, "%sNET over %s", count,
			 graph_span(interval,
				    graph_window(&v->ui->shown.figures, &v->ui->shown.time)));
}

static unsigned request(struct view *v, enum request r)
{
	struct libs *l = (struct libs *)v;

	if (table_view_graph_request(v, r) == VIEW_DRAW)
		return VIEW_DRAW;
	switch (r) {
	case REQ_FOCUS_NEXT:
	case REQ_FOCUS_PREV:
		l->t.graph_focus = !l->t.graph_focus && !model_of_sessions(l->t.v.ui->shown.model);
		return VIEW_DRAW;
	case REQ_LIB_TREE: {
		if (!l->count)
			return VIEW_DRAW;
		struct owner o = l->rows[l->t.list.at];
		return v->ui->ops->show_owner(v->ui, o.module, o.name);
	}
	default: return table_view_request(v, r);
	}
}

static void view_free(struct view *v)
{
	struct libs *l = (struct libs *)v;

	free(l->rows);
	free(l->judged);
	free(l);
}

static const struct table *columns_of(struct view *v)
{
	return table((struct libs *)v);
}

static const struct view_ops ops = {
	.title = "Libs",
	.brief = "Libs",
	.table = columns_of,
	.sort = table_view_sort,
	.foci = table_view_foci,
	.keys = { FOCUS_LIBS, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.request = request,
	.escape = table_view_escape,
	.no_filter = true,
	.caption = caption,
	.matches = matches,
	.search = table_view_search,
	.next_hit = table_view_next_hit,
	.free = view_free,
};

struct view *view_libs_new(struct ui *ui)
{
	struct libs *l = xcalloc(1, sizeof *l);

	l->t.v = (struct view){ &ops, ui };
	l->t.sort[0] = BY_LIVE;
	l->t.sort[1] = BY_NET;
	return &l->t.v;
}
