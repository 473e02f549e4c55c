/* SPDX-License-Identifier: MIT
 *
 * libs.c - live memory by owner library, one row each; the rows sum to the totals. A graph above.
 */
#include "views/amounts.h"
#include "views/table_view.h"
#include "views/views.h"
#include "widgets/graph.h"
#include "report/coverage.h"
#include "screen/term.h"

#include <stdlib.h>
#include <string.h>

struct libs {
	struct table_view t; /* first */
	struct owner *rows;  /* copies, in this view's order; owned */
	size_t count, room;
};

static uint64_t id_of(void *arg, size_t i)
{
	return ((struct libs *)arg)->rows[i].module;
}

static const struct figure_owner *figure_of(const struct figures *f, const struct owner *o)
{
	for (size_t i = 0; i < f->owner_count; i++)
		if (f->owners[i].module == o->module)
			return &f->owners[i];
	return NULL;
}

static struct value part(const struct line *l)
{
	const struct ui *ui = ((const struct libs *)l->view)->t.v.ui;
	const struct owner *o = l->row;

	return value_part(live_bytes(&o->amounts.sum), live_bytes(&ui->shown.figures.totals.sum));
}

/* Over the graph's time, where the history knows the owner. */
static struct value growth(const struct line *l)
{
	const struct ui *ui = ((const struct libs *)l->view)->t.v.ui;
	const struct figures *f = &ui->shown.figures;
	const struct owner *o = l->row;
	const struct figure_owner *known = figure_of(f, o);
	uint64_t window = graph_window(f, &ui->shown.time), now = live_bytes(&o->amounts.sum);
	size_t first = figures_point_at(f, f->time_ns > window ? f->time_ns - window : 0);

	if (!known || !(first == SIZE_MAX ? !f->point_count || f->known[0] : f->known[first]))
		return value_none();
	return (struct value){ .n = (int64_t)(now - (first == SIZE_MAX ? 0 : known->series[first])),
			       .estimate = o->amounts.sampled != 0 };
}

static void trend(const struct line *l, struct cell c)
{
	const struct figures *f = &((const struct libs *)l->view)->t.v.ui->shown.figures;
	const struct owner *o = l->row;
	const struct figure_owner *known = figure_of(f, o);
	size_t from = figures_known_from(f);

	if (known)
		graph_spark(c.a, c.y, c.x, c.w, draw_owner_role(o->letter), known->series + from,
			    f->point_count - from);
}

static void name(const struct line *l, struct cell c)
{
	const struct owner *o = l->row;
	const struct model *model = ((const struct libs *)l->view)->t.v.ui->shown.model;
	const struct module *m = o->module == OWNER_UNKNOWN ? NULL : model_module(model, o->module);
	const char *tail = m && m->flags & MTW_MODULE_GONE ? " (unloaded, blocks still live)" : "";
	const char *hooks = m && coverage_lacks(m->flags) ? coverage_word(m->flags) : NULL;
	char text[400];

	snprintf(text, sizeof text, "%.300s%s%s%s", o->name, tail, hooks ? ": " : "",
		 hooks ? hooks : "");
	cell_owner(c, cells_letter(o), text);
}

static const char *name_text(const struct line *l, size_t i)
{
	return i ? NULL : ((const struct owner *)l->row)->name;
}

static COLUMN(part, "%", 4, -1, KIND_PART, .value = part);
static COLUMN(growth, "NET", 9, BY_NET, KIND_NET, .value = growth);
static COLUMN(trend, "TREND", 12, -1, KIND_OWN, .wide = 24, .own = trend);
static COLUMN(name, "OWNER LIBRARY", 0, BY_NAME, KIND_OWN, .direct = DIRECT_CALLER, .own = name,
	      .text = name_text);

static const struct table_column plain[] = {
	SHOW(live, 0, 9),    SHOW(part, 4),   SHOW(blocks, 3, 0, 11),
	SHOW(bytes_rate, 5), SHOW(growth, 1), SHOW(trend, 6),
	SHOW(name),
};
static const struct table_column since[] = {
	SHOW(born, 2), SHOW(gone, 2), SHOW(net), SHOW(live, 4, 9), SHOW(more_blocks, 5), SHOW(name),
};
static const struct table_column between[] = {
	SHOW(born, 2),        SHOW(gone, 2),        SHOW(net),
	SHOW(live_now, 4, 9), SHOW(more_blocks, 5), SHOW(name),
};
static const struct table_column of_sessions[] = { COMPARED_COLUMNS(2), SHOW(name) };

static int ties(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return x->module < y->module ? -1 : x->module > y->module;
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
	for (size_t i = 0; i < kept; i++)
		l->rows[i].amounts.rated = figures_rated(&v->ui->shown.figures) ? KNOWN : KNOWN_NOT;
	if (resort || !l->t.list.touched)
		table_view_order(v, l->rows, l->count, sizeof *l->rows, ties);
	if (v->ui->compared) {
		GROW(l->t.judged, l->t.judged_room, l->count);
		diff_judge_owners(v->ui->compared, v->ui->shown.owners, l->rows, l->count,
				  l->t.judged);
	}
	table_view_update(v, l->rows, l->count, NULL);
}

static bool dim(void *arg, size_t row)
{
	const struct libs *l = arg;
	const struct change *c = &l->rows[row].amounts.change;

	if (l->t.v.ui->compared && l->t.judged[row].noise)
		return true;
	if (interval_between(l->t.v.ui->shown.model) || model_of_sessions(l->t.v.ui->shown.model))
		return !(c->born_bytes | c->gone_bytes | c->born_blocks | c->gone_blocks);
	return live_bytes(&l->rows[row].amounts.sum) == 0;
}

#define LIBS(columns) TABLE(VIEW_LIBS, columns, struct owner, dim, id_of, table_view_hit)
static const struct table tables[4] = { LIBS(plain), LIBS(since), LIBS(between),
					LIBS(of_sessions) };

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
	else if (!table_shows(view_table(v), term_columns(), &column_growth))
		snprintf(out, size, "%s librar%s", n, l->count == 1 ? "y" : "ies");
	else
		snprintf(out, size, "%sNET over %s", count,
			 graph_span(interval,
				    graph_window(&v->ui->shown.figures, &v->ui->shown.time)));
}

static unsigned action(struct view *v, enum action r)
{
	struct libs *l = (struct libs *)v;

	if (table_view_graph_action(v, r) == VIEW_DRAW)
		return VIEW_DRAW;
	switch (r) {
	case ACT_FOCUS_NEXT:
	case ACT_FOCUS_PREV:
		l->t.graph_focus = !l->t.graph_focus && !model_of_sessions(l->t.v.ui->shown.model);
		return VIEW_DRAW;
	case ACT_LIB_TREE: {
		if (!l->count)
			return VIEW_DRAW;
		struct owner o = l->rows[l->t.list.at];
		return v->ui->ops->show_owner(v->ui, o.module, o.name);
	}
	default: return table_view_action(v, r);
	}
}

static void view_free(struct view *v)
{
	struct libs *l = (struct libs *)v;

	free(l->rows);
	table_view_free(v);
}

static const struct view_ops ops = {
	.tables = tables,
	.shows = table_view_shows,
	.sort = table_view_sort,
	.foci = table_view_foci,
	.keys = { FOCUS_LIBS, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.action = action,
	.escape = table_view_escape,
	.no_filter = true,
	.caption = caption,
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
