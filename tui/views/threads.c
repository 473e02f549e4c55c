/* SPDX-License-Identifier: MIT
 *
 * threads.c - allocations and live blocks by thread, one row each.
 *
 * A thread's allocations and frees are always known. For its live blocks the agent walks all live
 * blocks, so they are requested only while this view is shown. The caption gives the age of the
 * answer, because the other columns are current. Threads that ended and hold nothing are counted,
 * not listed.
 */
#include "views/amounts.h"
#include "views/looked.h"
#include "views/table_view.h"
#include "views/views.h"

#include <stdlib.h>
#include <string.h>

#define OLD_NS 1000000000u /* the caption names the age of an older answer */

struct thread_row {
	struct amounts amounts; /* first; live ones as of the newest scan */
	uint32_t index;
	struct thread t; /* copied: the model's are good until its next event */
	size_t line;     /* before this refresh; SIZE_MAX: was not there */
};

struct threads {
	struct table_view t;     /* first */
	struct thread_row *rows; /* in this view's order; owned */
	size_t *line;            /* of a thread, by its index; owned */
	size_t count, room, line_room;
	size_t hidden; /* threads that ended and hold nothing */
	uint64_t held; /* by all of them, as of the same answer */
};

static uint64_t id_of(void *arg, size_t i)
{
	return ((struct threads *)arg)->rows[i].index;
}

static struct value part(const struct line *l)
{
	const struct thread_row *r = l->row;
	struct value v =
		value_part(live_bytes(&r->amounts.sum), ((const struct threads *)l->view)->held);

	v.known = (enum known)r->amounts.live;
	return v;
}

static struct value allocated(const struct line *l)
{
	const struct thread_row *r = l->row;

	return (struct value){ .n = (int64_t)r->t.done.alloc_bytes,
			       .estimate = r->amounts.sampled };
}

static struct value freed(const struct line *l)
{
	const struct thread_row *r = l->row;

	return (struct value){ .n = (int64_t)r->t.done.free_bytes, .estimate = r->amounts.sampled };
}

static struct value tid(const struct line *l)
{
	const struct thread_row *r = l->row;

	return (struct value){ .n = r->t.tid, .known = r->index ? KNOWN : KNOWN_NONE };
}

static void name(const struct line *l, struct cell c)
{
	const struct thread_row *r = l->row;
	char text[80];

	snprintf(text, sizeof text, "%s%s",
		 r->index ? r->t.name[0] ? r->t.name : "(no name)" : "other threads",
		 r->t.ended ? "  (ended)" : "");
	cell_text(c, r->t.ended ? ROLE_DIM : ROLE_NAME, text);
}

static const char *name_text(const struct line *l, size_t i)
{
	return i ? NULL : ((const struct thread_row *)l->row)->t.name;
}

enum { BY_FREED = BY_VIEW, BY_TID };

static COLUMN(part, "%", 4, -1, KIND_PART, .value = part);
static COLUMN(alloc, "ALLOC", 8, BY_ALLOC, KIND_ALLOCATED, .value = allocated);
static COLUMN(freed, "FREED", 8, BY_FREED, KIND_ALLOCATED, .value = freed);
static COLUMN(tid, "TID", 8, BY_TID, KIND_ID, .quiet = true, .value = tid);
static COLUMN(name, "THREAD", 0, BY_NAME, KIND_OWN, .own = name, .text = name_text);

static const struct table_column columns[] = {
	SHOW(held, 0, 9),    SHOW(part, 4),  SHOW(blocks, 3, 0, 11),
	SHOW(bytes_rate, 1), SHOW(calls, 6), SHOW(alloc, 5),
	SHOW(freed, 7),      SHOW(tid, 2),   SHOW(name),
};

/* As before the first scan: who allocated most comes first. */
static int ties(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	if (x->t.done.alloc_bytes != y->t.done.alloc_bytes)
		return x->t.done.alloc_bytes < y->t.done.alloc_bytes ? 1 : -1;
	return x->index < y->index ? -1 : 1;
}

static int by_line(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	return x->line != y->line ? (x->line < y->line ? -1 : 1) : x->index < y->index ? -1 : 1;
}

static struct amounts amounts_of(const struct ui *ui, uint32_t index, const struct thread *t)
{
	const struct model *m = ui->shown.model;
	const struct figures *f = &ui->shown.figures;
	struct amounts a = { .sum = { .alloc_blocks = t->live_blocks,
				      .alloc_bytes = t->live_bytes },
			     .sampled = f->estimate };

	a.live = model_looked(m, MTW_KIND_THREADS) ? KNOWN : KNOWN_SOON;
	a.rated = model_thread_rate(m, index, &a.rate) || figures_over(f) ? KNOWN : KNOWN_NOT;
	return a;
}

static void collect(struct threads *l)
{
	const struct model *m = l->t.v.ui->shown.model;
	uint32_t n = model_thread_count(m);

	GROW(l->line, l->line_room, (size_t)n + 1);
	for (uint32_t i = 0; i < n; i++)
		l->line[i] = SIZE_MAX;
	for (size_t i = 0; i < l->count; i++)
		if (l->rows[i].index < n)
			l->line[l->rows[i].index] = i;
	l->count = l->hidden = 0;
	l->held = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct thread *t = model_thread(m, i);
		if (!t->known)
			continue;
		l->held += t->live_bytes;
		if (t->ended && !t->live_blocks && model_looked(m, MTW_KIND_THREADS)) {
			l->hidden++;
			continue;
		}
		GROW(l->rows, l->room, l->count + 1);
		l->rows[l->count++] =
			(struct thread_row){ amounts_of(l->t.v.ui, i, t), i, *t, l->line[i] };
	}
}

static void refresh(struct view *v, bool resort)
{
	struct threads *l = (struct threads *)v;

	looked_want(v->ui, MTW_KIND_THREADS);
	collect(l);
	if (resort || !l->t.list.touched)
		table_view_order(v, l->rows, l->count, sizeof *l->rows, ties);
	else if (l->count)
		qsort(l->rows, l->count, sizeof *l->rows, by_line);
	table_view_update(v, l->rows, l->count, NULL);
}

static bool dim(void *arg, size_t row)
{
	return ((const struct threads *)arg)->rows[row].t.ended;
}

static const struct table table =
	TABLE(VIEW_THREADS, columns, struct thread_row, dim, id_of, table_view_hit);

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
			   l->hidden          ? "All threads have ended and hold nothing."
			   : ui_of_all(v->ui) ? watch_missing(v->ui->shown.watch, MTW_KIND_THREADS)
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

static unsigned action(struct view *v, enum action r)
{
	struct threads *l = (struct threads *)v;

	switch (r) {
	case ACT_THREAD_TREE:
		return l->t.list.at < l->count
			       ? v->ui->ops->show_thread(v->ui, l->rows[l->t.list.at].t.tid)
			       : VIEW_DRAW;
	default: return table_view_action(v, r);
	}
}

static void free_view(struct view *v)
{
	struct threads *l = (struct threads *)v;

	free(l->rows);
	free(l->line);
	table_view_free(v);
}

static const struct view_ops ops = {
	.no_filter = true,
	.tables = &table,
	.sort = table_view_one_sort,
	.foci = view_keys,
	.keys = { FOCUS_THREADS, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.action = action,
	.caption = caption,
	.search = table_view_search,
	.next_hit = table_view_next_hit,
	.free = free_view,
};

struct view *view_threads_new(struct ui *ui)
{
	struct threads *l = xcalloc(1, sizeof *l);

	l->t.v = (struct view){ &ops, ui };
	l->t.sort[0] = BY_LIVE;
	return &l->t.v;
}
