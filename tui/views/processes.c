/* SPDX-License-Identifier: MIT
 *
 * processes.c - the page of the program's processes: a line for each and the sum of all below;
 * Enter shows one in every view. process/process_rows.c makes the rows.
 */
#include "views/amounts.h"
#include "views/table_view.h"
#include "views/views.h"

#include <stdlib.h>
#include <string.h>

#define PANEL_LINES 3
#define PANEL_FROM 12 /* a page of so many lines has room for it */
#define OTHERS_ID UINT64_MAX

struct processes_page {
	struct table_view t;       /* first */
	struct process_rows *rows; /* the app's: they outlive the page */
	size_t count;              /* rows, and the way to other programs */
	bool choice;               /* there is that way */
};

static uint64_t id_of(void *arg, size_t i)
{
	return ((const struct processes_page *)arg)->rows->rows[i].id;
}

/* NULL: no row, or the way to other programs. */
static const struct process_row *selected(const struct processes_page *g)
{
	return g->t.list.at < g->rows->count ? &g->rows->rows[g->t.list.at] : NULL;
}

static void make_rows(struct processes_page *g, bool resort)
{
	struct ui *ui = g->t.v.ui;
	const struct process *list;
	size_t n = processes_list(ui->processes, &list);

	ui->process_list.sort = g->t.sort[0];
	ui->process_list.reverse = g->t.reverse;
	process_rows_make(g->rows, list, n, ui->others.shown,
			  (enum process_sort)ui->process_list.sort, ui->process_list.reverse,
			  resort);
	const struct process *all = processes_find(ui->processes, PROCESS_ALL);
	if (all && n > 1)
		process_rows_all(g->rows, all);
	g->count = g->rows->count + g->choice;
	GROW(g->rows->rows, g->rows->room, g->count + 1);
	g->rows->rows[g->rows->count] =
		(struct process_row){ .id = OTHERS_ID,
				      .amounts = { .live = KNOWN_NONE, .in_all = KNOWN_NONE } };
}

static size_t row_of(struct processes_page *g, uint64_t id)
{
	for (size_t i = 0; i < g->count; i++)
		if (id_of(g, i) == id)
			return i;
	return LIST_NONE;
}

static void select_id(struct processes_page *g, uint64_t id)
{
	size_t i = row_of(g, id);

	if (i != LIST_NONE)
		list_select(&g->t.list, i, id_of, g);
}

static bool is_in(struct processes_page *g, uint64_t fold, uint64_t id)
{
	process_rows_open(g->rows, fold, true);
	make_rows(g, false);
	bool in = row_of(g, id) != LIST_NONE;
	process_rows_open(g->rows, fold, false);
	make_rows(g, false);
	return in;
}

/* The id of the fold that contains a process, else its own. A closed fold does not list its
 * members, so it is opened. */
static uint64_t taken_in_by(struct processes_page *g, uint64_t id)
{
	const struct process *p =
		id < UINT32_MAX ? processes_find(g->t.v.ui->processes, (uint32_t)id) : NULL;

	for (size_t i = 0; p && i < g->rows->count; i++) {
		const struct process_row *r = &g->rows->rows[i];
		uint64_t fold = r->id;
		if (r->folded && !r->open && !strcmp(r->p.name, p->name) && is_in(g, fold, id))
			return fold;
	}
	return id;
}

static void make(struct processes_page *g, bool resort)
{
	make_rows(g, resort);
	if (g->t.list.touched && row_of(g, g->t.list.id) == LIST_NONE)
		g->t.list.id = taken_in_by(g, g->t.list.id);
	table_view_update(&g->t.v, g->rows->rows, g->count, NULL);
}

static void refresh(struct view *v, bool resort)
{
	struct processes_page *g = (struct processes_page *)v;

	make(g, resort || !g->t.list.touched);
}

static const struct table table;
static const struct column column_peak;

static struct cell indented(struct cell c, unsigned depth)
{
	int indent = (int)depth * 2, most = c.w / 3;
	char deeper[24];

	if (indent > most) { /* no room: its depth as a number */
		snprintf(deeper, sizeof deeper, "%s%u", text_glyph(GLYPH_DEEPER), depth);
		indent = draw_clip(c.a, c.y, c.x, most, ROLE_DIM, CLIP_END, deeper) + 1;
	}
	c.x += indent;
	c.w -= indent;
	return c;
}

/* As much of the text as fits; without the peak when its column is shown. */
static void fold_cell(const struct process_row *r, struct cell c)
{
	const char *peaks[] = { ", largest peak ", ", peak ", "" };
	char text[160], size[32], count[32];
	bool followed = r->p.state != PROCESS_UNFOLLOWED,
	     bare = !followed || table_shows(&table, c.a->w, &column_peak);

	draw_clip(c.a, c.y, c.x, c.w, ROLE_KEY, CLIP_END,
		  text_glyph(r->open ? GLYPH_OPEN : GLYPH_CLOSED));
	for (size_t i = bare ? 2 : 0; i < 3; i++) {
		snprintf(text, sizeof text, "%s: %s %s%s%s", r->p.name,
			 format_count(count, r->folded), followed ? "ended" : "not followed",
			 peaks[i], *peaks[i] ? text_bytes(size, r->p.peak_bytes) : "");
		if (text_width(text) <= c.w - 2)
			break;
	}
	draw_clip(c.a, c.y, c.x + 2, c.w - 2, ROLE_NAME, CLIP_END, text);
}

/* "worker process" of nginx, "-quiet a.cc" of cc1plus. */
static const char *words_after_name(const struct process *p, char words[256])
{
	const char *rest = process_words(p, words, 256) + strlen(p->name);

	return rest + strspn(rest, ": ");
}

static void name_cell(const struct line *l, struct cell c)
{
	const struct ui *ui = ((const struct view *)l->view)->ui;
	const struct process_row *r = l->row;
	const struct process *now = r->folded ? NULL : processes_find(ui->processes, r->p.id);
	char words[256];
	bool shown = r->p.id == ui->others.shown,
	     reason = now && now->state == PROCESS_UNFOLLOWED && now->why;

	if (r->id == OTHERS_ID) {
		cell_text(c, ROLE_KEY, "another program ...");
		return;
	}
	c = indented(c, r->depth);
	if (r->folded) {
		fold_cell(r, c);
		return;
	}
	enum role role = process_runs(&r->p) ? ROLE_NAME : ROLE_DIM;
	int used = draw_clip(c.a, c.y, c.x + 2, c.w - 2, role, CLIP_END, r->p.name) + 2;
	if (shown)
		used += draw_clip(c.a, c.y, c.x + used, c.w - used, ROLE_MARK, CLIP_END,
				  "  (shown)");
	else if (r->p.forked)
		used += draw_clip(c.a, c.y, c.x + used, c.w - used, ROLE_DIM, CLIP_END, "  (fork)");
	const char *rest = reason ? now->why : now ? words_after_name(now, words) : "";
	if (*rest && c.w - used > 4)
		draw_clip(c.a, c.y, c.x + used + 2, c.w - used - 2, ROLE_DIM, CLIP_END, rest);
}

static uint64_t ran_ns(const struct ui *ui, const struct process *p)
{
	uint64_t end = p->end_ns ? p->end_ns : processes_time_ns(ui->processes);

	return end > p->begin_ns ? end - p->begin_ns : 0;
}

/* A figure of a process while it runs. */
static struct value while_it_runs(const struct line *l, double n, bool known)
{
	const struct process_row *r = l->row;

	if (r->amounts.live != KNOWN || !process_runs(&r->p))
		return value_none();
	return (struct value){ .n = (int64_t)n, .known = known ? KNOWN : KNOWN_NOT };
}

static struct value growth(const struct line *l)
{
	const struct process *p = &((const struct process_row *)l->row)->p;

	return while_it_runs(l, p->growth, p->growth_known);
}

static struct value rate(const struct line *l)
{
	const struct process *p = &((const struct process_row *)l->row)->p;

	return while_it_runs(l, p->rate > 0 ? p->rate : 0, p->rate_known);
}

static struct value peak(const struct line *l)
{
	const struct process_row *r = l->row;

	bool known = r->p.id != PROCESS_ALL || r->p.peak_bytes;

	return (struct value){ .n = (int64_t)r->p.peak_bytes,
			       .known = known ? (enum known)r->amounts.in_all : KNOWN_NOT };
}

static struct value pid(const struct line *l)
{
	const struct process_row *r = l->row;

	return r->p.pid && !r->folded ? (struct value){ .n = r->p.pid } : value_none();
}

static struct value ran(const struct line *l)
{
	const struct process_row *r = l->row;
	const struct ui *ui = ((const struct view *)l->view)->ui;

	return r->amounts.live == KNOWN ? (struct value){ .n = (int64_t)ran_ns(ui, &r->p) }
					: value_none();
}

static void state_cell(const struct line *l, struct cell c)
{
	const struct process_row *r = l->row;
	char text[32];

	if (!r->folded && r->id != OTHERS_ID)
		cell_text(c, r->p.state == PROCESS_SIGNALLED ? ROLE_BAD : ROLE_PLACE,
			  process_state_words(&r->p, text));
}

static const char *name_text(const struct line *l, size_t i)
{
	const struct process_row *r = l->row;

	return i || r->id == OTHERS_ID ? NULL : r->p.name;
}

static COLUMN(growth, "/MIN", 9, PROCESSES_BY_GROWTH, KIND_NET, .value = growth);
static COLUMN(rate, "BYTES/s", 8, PROCESSES_BY_RATE, KIND_BYTES, .value = rate);
static COLUMN(peak, "PEAK", 8, PROCESSES_BY_PEAK, KIND_BYTES, .value = peak);
static COLUMN(pid, "PID", 7, PROCESSES_BY_PID, KIND_ID, .value = pid);
static COLUMN(state, "STATE", 12, -1, KIND_OWN, .own = state_cell);
static COLUMN(ran, "RAN", 7, PROCESSES_BY_TIME, KIND_SPAN, .value = ran);
static COLUMN(name, "PROCESS", 0, PROCESSES_BY_TREE, KIND_OWN, .wide = 33, .own = name_cell,
	      .text = name_text);

static const struct table_column columns[] = {
	SHOW(held),      SHOW(growth, 1), SHOW(rate, 6),  SHOW(peak, 5), SHOW(in_all, 4),
	SHOW(blocks, 8), SHOW(pid, 3),    SHOW(state, 2), SHOW(ran, 7),  SHOW(name),
};

static bool dim(void *arg, size_t row)
{
	const struct processes_page *g = arg;

	return row < g->rows->count && !process_runs(&g->rows->rows[row].p);
}

static const struct table table =
	TABLE(VIEW_COUNT, columns, struct process_row, dim, id_of, table_view_hit);

/* Why there is no tree of it, or what Enter does. */
static const char *about(const struct ui *ui, const struct process *p)
{
	if (p->why)
		return p->why;
	if (p->id == PROCESS_ALL && p->id != ui->others.shown)
		return "All processes as one heap, what forks inherit once: Enter shows it in all "
		       "views.";
	if (p->id == ui->others.shown)
		return "The views show this process: Enter goes back to them.";
	if (p->watch || process_runs(p))
		return "Enter shows it in all views.";
	return "It was small and short-lived: only its totals are known.";
}

/* Returns the lines that it took. */
static int draw_figures(const struct ui *ui, const struct process *p, const struct area *s, int y)
{
	char live[32], blocks[TEXT_BLOCKS] = "", peak[32] = "", all[32], ran[32], begin[32];
	bool peaked = p->id != PROCESS_ALL || p->peak_bytes;
	bool narrow = s->w < 100;

	if (p->state == PROCESS_UNFOLLOWED)
		return 0;
	if (!narrow)
		text_blocks(blocks, p->live_blocks);
	if (peaked)
		text_bytes(peak, p->peak_bytes);
	draw_printf(s, y, 1, ROLE_NORMAL, "%s live%s%s%s%s%s, %s in all; began %s, %s %s",
		    text_bytes(live, p->live_bytes), narrow ? "" : " in ", blocks,
		    process_runs(p) ? "" : " at its end", peaked ? ", peak " : "", peak,
		    text_bytes(all, process_allocated(p)), text_clock(begin, p->begin_ns),
		    process_runs(p) ? "runs" : "ran", text_span_short(ran, ran_ns(ui, p)));
	return 1;
}

/* The selected process in words. */
static void draw_panel(const struct processes_page *g, const struct area *s)
{
	const struct ui *ui = g->t.v.ui;
	const struct process_row *r = selected(g);
	const struct process *now = r && !r->folded ? processes_find(ui->processes, r->p.id) : NULL;
	char title[400], state[32], words[256];

	if (!now) {
		draw_rule(s, 0, ROLE_BORDER, "");
		draw_text(s, 1, 1, ROLE_NORMAL,
			  r ? "Enter opens or closes it."
			    : "Enter lists other programs that can be watched.");
		return;
	}
	const char *waits = processes_waits(ui->processes, r->p.id);
	snprintf(title, sizeof title, "%.255s  %s%s%s%s", process_words(now, words, sizeof words),
		 process_state_words(&r->p, state), *waits ? " (waits in " : "", waits,
		 *waits ? ")" : "");
	draw_rule(s, 0, ROLE_BORDER, title);
	/* The row's own figures: newer ones would contradict the row. */
	int y = 1 + draw_figures(ui, &r->p, s, 1);
	draw_clip(s, y, 1, s->w - 1, now->why ? ROLE_WARNING : ROLE_NORMAL, CLIP_END,
		  about(ui, now));
}

static const char *range(char *out, size_t size, const struct live_range *bytes)
{
	char least[32], most[32];
	bool one = !strcmp(text_bytes(least, bytes->least), text_bytes(most, bytes->most));

	snprintf(out, size, "%s%s%s", least, one ? "" : " to ", one ? "" : most);
	return out;
}

static void draw_sum(const struct ui *ui, const struct area *s, int y)
{
	struct processes_sum sum;
	uint64_t missed = processes_missed(ui->processes);
	char live[80], blocks[TEXT_BLOCKS], count[32], least[40] = "", all[32], more[96] = "";

	processes_total(ui->processes, &sum);
	draw_fill(s, y, 0, -1, ROLE_HEAD);
	if (sum.unfollowed)
		snprintf(more, sizeof more, ", %zu not followed", sum.unfollowed);
	if (missed)
		snprintf(more + strlen(more), sizeof more - strlen(more), ", %llu without figures",
			 (unsigned long long)missed);
	int x = 1 + draw_printf(s, y, 1, ROLE_HEAD,
				s->w < 60 ? "%s live, %zu run" : "All: %s live, %zu run",
				range(live, sizeof live, &sum.bytes), sum.running);
	x += draw_printf(s, y, x, ROLE_HEAD, " of %zu%s", sum.lines, more);
	if (sum.blocks.most != sum.blocks.least)
		snprintf(least, sizeof least, "%s to ", format_count(count, sum.blocks.least));
	draw_printf(s, y, x, ROLE_HEAD, ".  %s%s, %s allocated in all", least,
		    text_blocks(blocks, sum.blocks.most), text_bytes(all, sum.sum.alloc_bytes));
}

static void draw(struct view *v, const struct area *a)
{
	struct processes_page *g = (struct processes_page *)v;
	int sum = a->h >= 3, panel = a->h >= PANEL_FROM ? PANEL_LINES : 0;
	struct area list = area_sub(a, 0, 0, a->h - sum - panel, -1),
		    low = area_sub(a, a->h - sum - panel, 0, panel, -1);

	table_view_draw(v, &list);
	if (panel)
		draw_panel(g, &low);
	if (sum)
		draw_sum(v->ui, a, a->h - 1);
}

/* The row if it is a fold, else its fold's row; LIST_NONE = no fold. */
static size_t fold_of(const struct processes_page *g, size_t i)
{
	const struct process_row *rows = g->rows->rows;

	if (rows[i].folded)
		return i;
	for (size_t k = i; k-- > 0;)
		if (rows[k].depth < rows[i].depth)
			return rows[k].folded ? k : LIST_NONE;
	return LIST_NONE;
}

static unsigned open_fold(struct processes_page *g, bool open)
{
	size_t i = selected(g) ? open ? g->t.list.at : fold_of(g, g->t.list.at) : LIST_NONE;

	if (i == LIST_NONE || !g->rows->rows[i].folded)
		return VIEW_DRAW;
	uint64_t id = g->rows->rows[i].id;
	process_rows_open(g->rows, id, open);
	make(g, false);
	select_id(g, id);
	return VIEW_DRAW;
}

static unsigned show(struct processes_page *g, uint32_t id)
{
	struct ui *ui = g->t.v.ui;

	if (id != ui->others.shown && ui->ops->show_process(ui, id))
		return VIEW_DRAW;
	return VIEW_CLOSE;
}

static unsigned enter(struct processes_page *g)
{
	const struct process_row *r = selected(g);

	if (!r && g->t.list.at < g->count)
		return g->t.v.ui->ops->choose_program(g->t.v.ui), 0;
	if (!r)
		return VIEW_DRAW;
	return r->folded ? open_fold(g, !r->open) : show(g, r->p.id);
}

static unsigned next_order(struct processes_page *g)
{
	static const int orders[] = { PROCESSES_BY_TREE, PROCESSES_BY_GROWTH, PROCESSES_BY_LIVE,
				      PROCESSES_BY_PEAK, PROCESSES_BY_ALLOCATED };
	const size_t count = sizeof orders / sizeof *orders;
	size_t i = 0;

	while (i < count && orders[i] != g->t.sort[0])
		i++;
	g->t.sort[0] = i + 1 < count ? orders[i + 1] : PROCESSES_BY_TREE;
	g->t.reverse = false;
	return VIEW_RESORT;
}

static unsigned action(struct view *v, enum action r)
{
	struct processes_page *g = (struct processes_page *)v;

	switch (r) {
	case ACT_PROCESSES: return VIEW_CLOSE;
	case ACT_PROCESS_SHOW: return enter(g);
	case ACT_PROCESS_OPEN: return open_fold(g, true);
	case ACT_PROCESS_CLOSE: return open_fold(g, false);
	case ACT_PROCESS_TOGGLE: return selected(g) ? open_fold(g, !selected(g)->open) : VIEW_DRAW;
	case ACT_PROCESS_ORDER: return next_order(g);
	default: return table_view_action(v, r);
	}
}

static const struct view_ops ops = {
	.title = "Processes",
	.no_filter = true,
	.no_diff = "d compares one process with a mark: press Enter, then d.  /MIN is each one's "
		   "growth",
	.tables = &table,
	.sort = table_view_one_sort,
	.foci = view_keys,
	.keys = { FOCUS_PROCESSES, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.action = action,
	.search = table_view_search,
	.next_hit = table_view_next_hit,
	.free = table_view_free,
};

bool view_is_processes(const struct view *v)
{
	return v && v->ops == &ops;
}

/* Selects the process that line 2 names, so that Enter shows it; else the shown one. */
struct view *view_processes_new(struct ui *ui, bool choice)
{
	struct processes_page *g = xcalloc(1, sizeof *g);

	g->t.v = (struct view){ &ops, ui };
	g->rows = &ui->process_list.rows;
	g->choice = choice;
	g->t.sort[0] = ui->process_list.sort;
	g->t.reverse = ui->process_list.reverse;
	make(g, true);
	select_id(g, g->rows->count > 1 || !choice
			     ? ui->others.look ? ui->others.look : ui->others.shown
			     : OTHERS_ID);
	return &g->t.v;
}
