/* SPDX-License-Identifier: MIT
 *
 * threads.c - allocations and live blocks by thread, one row each.
 *
 * A thread's allocations and frees are always known. For its live blocks the agent walks all live
 * blocks, so they are requested only while this view is shown. The caption gives the age of the
 * answer, because the other columns are current. Threads that ended and hold nothing are counted,
 * not listed.
 */
#include "views/table_view.h"
#include "views/views.h"
#include "widgets/cells.h"
#include "views/looked.h"

#include <stdlib.h>
#include <string.h>

#define OLD_NS 1000000000u /* the caption names the age of an older answer */

struct thread_row {
	uint32_t index;
	struct thread t;  /* copied: the model's are good until its next event */
	struct rate rate; /* in the window: model_window() */
	bool rate_known;
	size_t place; /* line before this refresh; SIZE_MAX: was not there */
};

struct threads {
	struct table_view t;     /* first */
	struct thread_row *rows; /* in this view's order; owned */
	size_t *place;           /* of a thread, by its index; owned */
	size_t count, room, place_room;
	size_t hidden; /* threads that ended and hold nothing */
	uint64_t held; /* by all of them, as of the same answer */
};

enum { C_LIVE, C_PART, C_BLOCKS, C_RATE, C_CALLS, C_ALLOC, C_FREED, C_TID, C_NAME };

/* clang-format off */
static const struct column columns[] = {
	[C_LIVE] = { .title = "LIVE", .width = 9, .bytes = SIZE_HELD, .sort = C_LIVE },
	[C_PART] = { .title = "%", .width = 4, .rank = 4, .sort = -1 },
	[C_BLOCKS] = { .title = "BLOCKS", .width = 8, .wide = 11, .rank = 3, .sort = C_BLOCKS },
	[C_RATE] = { .title = "BYTES/s", .width = 8, .bytes = SIZE_HELD, .rank = 1,
	  .sort = C_RATE },
	[C_CALLS] = { .title = "CALLS/s", .width = 8, .rank = 6, .sort = C_CALLS },
	[C_ALLOC] = { .title = "ALLOC", .width = 8, .bytes = SIZE_IN_ALL, .rank = 5,
	  .sort = C_ALLOC },
	[C_FREED] = { .title = "FREED", .width = 8, .bytes = SIZE_IN_ALL, .rank = 7,
	  .sort = C_FREED },
	[C_TID] = { .title = "TID", .width = 8, .rank = 2, .sort = C_TID },
	[C_NAME] = { .title = "THREAD", .left = true, .sort = C_NAME },
};
/* clang-format on */

static uint64_t id_of(void *arg, size_t i)
{
	return ((struct threads *)arg)->rows[i].index;
}

static double value(const struct thread_row *r, int sort)
{
	switch (sort) {
	case C_BLOCKS: return (double)r->t.live_blocks;
	case C_RATE: return (double)r->rate.bytes;
	case C_CALLS: return (double)r->rate.blocks;
	case C_ALLOC: return (double)r->t.done.alloc_bytes;
	case C_FREED: return (double)r->t.done.free_bytes;
	case C_TID: return (double)r->t.tid;
	default: return (double)r->t.live_bytes;
	}
}

/* Equal values, as before the first scan: who allocated most comes first. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct threads *l = arg;
	const struct thread_row *x = a, *y = b;
	double vx = value(x, l->t.sort[0]), vy = value(y, l->t.sort[0]);
	int c = l->t.sort[0] == C_NAME ? strcmp(x->t.name, y->t.name)
		: vx < vy              ? 1
		: vx > vy              ? -1
				       : 0;

	if (!c && x->t.done.alloc_bytes != y->t.done.alloc_bytes)
		c = x->t.done.alloc_bytes < y->t.done.alloc_bytes ? 1 : -1;
	if (!c)
		c = x->index < y->index ? -1 : 1;
	return l->t.reverse ? -c : c;
}

static int by_place(const void *a, const void *b, void *arg)
{
	(void)arg;
	const struct thread_row *x = a, *y = b;

	return x->place != y->place ? (x->place < y->place ? -1 : 1) : x->index < y->index ? -1 : 1;
}

static void collect(struct threads *l)
{
	const struct model *m = l->t.v.ui->shown.model;
	uint32_t n = model_thread_count(m);

	GROW(l->place, l->place_room, (size_t)n + 1);
	for (uint32_t i = 0; i < n; i++)
		l->place[i] = SIZE_MAX;
	for (size_t i = 0; i < l->count; i++)
		if (l->rows[i].index < n)
			l->place[l->rows[i].index] = i;
	l->count = l->hidden = 0;
	l->held = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct thread *t = model_thread(m, i);
		struct thread_row row = { .index = i, .t = *t, .place = l->place[i] };
		if (!t->known)
			continue;
		l->held += t->live_bytes;
		if (t->ended && !t->live_blocks && model_looked(m, MTW_KIND_THREADS)) {
			l->hidden++;
			continue;
		}
		row.rate_known = model_thread_rate(m, i, &row.rate);
		GROW(l->rows, l->room, l->count + 1);
		l->rows[l->count++] = row;
	}
}

static void refresh(struct view *v, bool resort)
{
	struct threads *l = (struct threads *)v;

	looked_want(v->ui, MTW_KIND_THREADS);
	collect(l);
	if (l->count)
		qsort_r(l->rows, l->count, sizeof *l->rows,
			resort || !l->t.list.touched ? compare : by_place, l);
	table_view_update(v, l->count, NULL);
}

static void name_cell(const struct thread_row *r, struct cell c)
{
	char text[80];

	snprintf(text, sizeof text, "%s%s",
		 r->index ? r->t.name[0] ? r->t.name : "(no name)" : "other threads",
		 r->t.ended ? "  (ended)" : "");
	cell_text(c, r->t.ended ? ROLE_DIM : ROLE_NAME, text);
}

static void cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x, int w)
{
	const struct threads *l = arg;
	const struct thread_row *r = &l->rows[row];
	const struct figures *f = &l->t.v.ui->shown.figures;
	const struct model *m = l->t.v.ui->shown.model;
	struct cell c = { a, y, x, w, f->estimate };
	bool held = model_looked(m, MTW_KIND_THREADS) != 0, over = figures_over(f);
	char text[32];

	if (!held && (column == C_LIVE || column == C_PART || column == C_BLOCKS)) {
		draw_right(a, y, x, w, ROLE_DIM, text_glyph(GLYPH_ELLIPSIS));
		return;
	}
	switch (column) {
	case C_LIVE: cell_bytes(c, r->t.live_bytes); break;
	case C_PART: cell_part(c, r->t.live_bytes, l->held); break;
	case C_BLOCKS: cell_count(c, r->t.live_blocks); break;
	case C_RATE:
		if (r->rate_known || over)
			cell_bytes(c, over ? 0 : (uint64_t)model_per_second(m, r->rate.bytes));
		else
			cell_unknown(c);
		break;
	case C_CALLS:
		if (r->rate_known || over)
			cell_rate(c, over ? 0 : model_per_second(m, r->rate.blocks));
		else
			cell_unknown(c);
		break;
	case C_ALLOC: cell_bytes(c, r->t.done.alloc_bytes); break;
	case C_FREED: cell_bytes(c, r->t.done.free_bytes); break;
	case C_TID:
		snprintf(text, sizeof text, "%u", r->t.tid);
		if (r->index)
			draw_right(a, y, x, w, ROLE_DIM, text);
		break;
	case C_NAME: name_cell(r, c); break;
	}
}

static bool dim(void *arg, size_t row)
{
	return ((const struct threads *)arg)->rows[row].t.ended;
}

static bool matches(struct view *v, size_t row, const char *text)
{
	const struct thread_row *r = &((struct threads *)v)->rows[row];
	char tid[16];

	snprintf(tid, sizeof tid, "%u", r->t.tid);
	return strcasestr(r->t.name, text) || !strcmp(tid, text);
}

static const struct table table = { "Threads",     columns, sizeof columns / sizeof columns[0],
				    cell,          dim,     id_of,
				    table_view_hit };

static void draw(struct view *v, const struct area *a)
{
	struct threads *l = (struct threads *)v;

	const char *why = watch_missing(v->ui->shown.watch, MTW_KIND_THREADS);

	table_view_draw(v, a);
	/* Below the rows. Where they fill the screen, the caption says it. */
	if (why && l->count && (int)l->count + 4 < a->h)
		draw_words(a, (int)l->count + 2, 3, ROLE_WARNING, why);
	if (!l->count)
		draw_words(a, 2, 3, ROLE_WARNING,
			   l->hidden ? "All threads have ended and hold nothing."
				     : ui_empty_reason(v->ui));
}

/* Of when LIVE is, where it is not of what is shown. */
static void live_of(const struct threads *l, char *out, size_t size)
{
	const struct ui *ui = l->t.v.ui;
	bool still = ui->shown.figures.past || figures_over(&ui->shown.figures);
	uint64_t all = live_bytes(&ui->shown.figures.totals.sum),
		 age = looked_ago(ui, MTW_KIND_THREADS);
	char one[32], two[32], ago[32];

	if (!model_looked(ui->shown.model, MTW_KIND_THREADS))
		snprintf(out, size, "  LIVE is %s",
			 watch_live(ui->shown.watch) && !still ? "loading" : "unknown");
	else if (!still && age >= OLD_NS)
		snprintf(out, size, "  LIVE as of %s ago", text_span(one, age));
	else if (still && l->held != all)
		snprintf(out, size, "  LIVE from a scan %s before: %s of %s", text_ago(ago, age),
			 text_bytes(one, l->held), text_bytes(two, all));
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	struct threads *l = (struct threads *)v;
	char count[96], n[32], when[120] = "";

	snprintf(count, sizeof count, "%s thread%s", format_count(n, l->count), format_s(l->count));
	if (l->hidden && !brief)
		snprintf(count + strlen(count), sizeof count - strlen(count),
			 " and %s that ended and hold nothing", format_count(n, l->hidden));
	live_of(l, when, sizeof when);
	snprintf(out, size, "%s%s", count, when);
}

static unsigned request(struct view *v, enum request r)
{
	struct threads *l = (struct threads *)v;

	switch (r) {
	case REQ_THREAD_TREE:
		return l->t.list.at < l->count
			       ? v->ui->ops->show_thread(v->ui, l->rows[l->t.list.at].t.tid)
			       : VIEW_DRAW;
	default: return table_view_request(v, r);
	}
}

static void free_view(struct view *v)
{
	struct threads *l = (struct threads *)v;

	free(l->rows);
	free(l->place);
	free(l);
}

static const struct table *columns_of(struct view *v)
{
	(void)v;
	return &table;
}

static const struct view_ops ops = {
	.title = "Threads",
	.brief = "Thr",
	.no_filter = true,
	.table = columns_of,
	.sort = table_view_one_sort,
	.foci = view_keys,
	.keys = { FOCUS_THREADS, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.request = request,
	.caption = caption,
	.matches = matches,
	.search = table_view_search,
	.next_hit = table_view_next_hit,
	.free = free_view,
};

struct view *view_threads_new(struct ui *ui)
{
	struct threads *l = xcalloc(1, sizeof *l);

	l->t.v = (struct view){ &ops, ui };
	l->t.sort[0] = C_LIVE;
	return &l->t.v;
}
