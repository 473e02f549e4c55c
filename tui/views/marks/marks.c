/* SPDX-License-Identifier: MIT
 *
 * marks.c - the session's marks, and below them the changes between the two picked ones (A and B),
 * by call site and interval. Marks belong to the agent: every viewer sees the same ones, and a
 * request made here shows once the agent has done it.
 *
 * It is no table_view (views/table_view.h), because that base keeps one list and offers its columns
 * to sorting, search and the page of columns; this view has two lists, and none of the three.
 */
#include "views/amounts.h"
#include "views/marks/marks.h"
#include "views/views.h"

#include <stdlib.h>
#include <string.h>

static uint64_t id_of(void *arg, size_t i)
{
	return ((struct marks *)arg)->rows[i].id;
}

/* The default: the newest mark against now. */
static void default_picks(struct marks *m)
{
	if (!marks_is_there(m->next, m->next_count, m->a) ||
	    !marks_is_there(m->next, m->next_count, m->b))
		m->picked = false;
	if (m->picked)
		return;
	m->b = MARK_NOW;
	m->a = m->next_count > 1 ? m->next[m->next_count - 2].id : 0;
}

/* Until the user chooses: the newest mark, with `now` below it. */
static void follow_newest(struct marks *m)
{
	m->list.at = m->count - 2;
	m->list.top = m->count;
	list_fit(&m->list, m->list.height);
	m->list.id = m->rows[m->list.at].id;
}

static void ask(struct view *v, bool resort)
{
	struct marks *m = (struct marks *)v;

	(void)resort;
	marks_rows_ask(m);
	default_picks(m);
	m->from = m->a;
	m->to = m->b == MARK_NOW ? 0 : m->b;
}

static void make(struct view *v)
{
	struct marks *m = (struct marks *)v;

	marks_rows_make(m);
	query_intervals(v->ui->shown.query, m->from, m->to, &m->made);
}

static bool take(struct view *v)
{
	struct marks *m = (struct marks *)v;

	marks_rows_take(m);
	m->list.rows = m->rows;
	list_update(&m->list, m->count, id_of, NULL, m);
	if (!m->list.touched)
		follow_newest(m);
	marks_lower_take(m);
	return true;
}

static void draw_pick(const struct line *l, struct cell c)
{
	const struct marks *m = l->view;
	const struct mark_row *r = l->row;

	cell_text(c, ROLE_MARK, r->id == m->a ? " A" : r->id == m->b ? " B" : "");
}

static void draw_label(const struct line *l, struct cell c)
{
	char text[32];

	cell_text(c, ROLE_MARK, marks_label(((const struct mark_row *)l->row)->id, text));
}

/* One without a name is called by its number. */
static void draw_name(const struct line *l, struct cell c)
{
	const struct mark_row *r = l->row;
	char text[32];

	if (strcmp(r->name, marks_label(r->id, text)))
		cell_text(c, ROLE_NAME, r->name);
}

static void draw_by(const struct line *l, struct cell c)
{
	cell_text(c, ROLE_PLACE, ((const struct mark_row *)l->row)->by);
}

static struct value at_time(const struct line *l)
{
	return (struct value){ .n = (int64_t)((const struct mark_row *)l->row)->time_ns };
}

/* The row above; NULL = the row is the first. */
static const struct mark_row *above(const struct line *l)
{
	return l->index ? (const struct mark_row *)l->row - 1 : NULL;
}

static struct value after(const struct line *l)
{
	const struct mark_row *r = l->row, *from = above(l);

	return from ? (struct value){ .n = (int64_t)(r->time_ns - from->time_ns) } : value_none();
}

static struct value growth(const struct line *l)
{
	const struct mark_row *r = l->row, *from = above(l);

	if (!from)
		return value_none();
	return (struct value){ .n = (int64_t)(live_bytes(&r->amounts.sum) -
					      live_bytes(&from->amounts.sum)),
			       .estimate = r->amounts.sampled };
}

static struct value rss(const struct line *l)
{
	const struct mark_row *r = l->row;

	return r->rss_bytes ? (struct value){ .n = (int64_t)r->rss_bytes } : value_none();
}

static COLUMN(pick, "PICK", 4, -1, KIND_OWN, .own = draw_pick);
static COLUMN(label, "MARK", 5, -1, KIND_OWN, .own = draw_label);
static COLUMN(name, "NAME", 0, -1, KIND_OWN, .own = draw_name);
static COLUMN(by, "SET BY", 10, -1, KIND_OWN, .wide = 14, .own = draw_by);
static COLUMN(time, "TIME", 8, -1, KIND_CLOCK, .value = at_time);
static COLUMN(after, "AFTER", 8, -1, KIND_CLOCK, .quiet = true, .value = after);
static COLUMN(growth, "NET", 9, -1, KIND_NET, .value = growth);
static COLUMN(rss, "RSS", 8, -1, KIND_BYTES, .value = rss);

static const struct table_column columns[] = {
	SHOW(pick),    SHOW(label),    SHOW(name),   SHOW(by, 9),
	SHOW(time, 4), SHOW(after, 8), SHOW(held),   SHOW(growth, 1),
	SHOW(born, 5), SHOW(gone, 6),  SHOW(rss, 7), SHOW(blocks, 10, 0, 11),
};

static const struct table table = TABLE(VIEW_COUNT, columns, struct mark_row, NULL, id_of, NULL);

static void draw(struct view *v, const struct area *a)
{
	struct marks *m = (struct marks *)v;
	int want = (int)m->count + 1, most = a->h >= 10 ? a->h * 2 / 5 : a->h;
	int upper = want < most ? want : most;
	struct area top = area_sub(a, 0, 0, a->h >= 10 ? upper : a->h, -1);

	m->has_lower = a->h >= 10;
	const char *prefix = cells_prefix(""); /* totals at marks are complete, rows may not be */
	table_draw(&table, &top, &m->list, m, -2, false, !m->lower_focus || !m->has_lower);
	cells_prefix(prefix);
	if (!m->has_lower)
		return;
	struct area low = area_sub(a, upper, 0, a->h - upper, -1);
	marks_lower_draw(m, &low);
}

/* The number of processes that have the selected mark; 0 = the row is no mark. */
static size_t marked_in(const struct marks *m)
{
	const struct mark_row *r = &m->rows[m->list.at];

	return r->id && r->id != MARK_NOW ? others_marked(m->v.ui->processes, r->name) : 0;
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	struct marks *m = (struct marks *)v;
	char a[32], b[32], every[80];

	every_words(&v->ui->every, every, sizeof every);
	if (*every)
		snprintf(out, size, "%s", every);
	else if (m->count <= 2)
		snprintf(out, size, "%s",
			 ui_linked(v->ui) ? "no marks yet: s sets one" : "no marks");
	else if (marked_in(m) > 1)
		snprintf(out, size, "%s in %zu processes", marks_label(m->rows[m->list.at].id, a),
			 marked_in(m));
	else if (brief)
		snprintf(out, size, "%s > %s", marks_label(m->a, a), marks_label(m->b, b));
	else
		snprintf(out, size, "NET since the row above");
}

/* Of All in each process; to NULL: deletes it. */
static bool change(const struct marks *m, const char *to)
{
	const struct ui *ui = m->v.ui;
	const struct mark *k = model_mark(ui->shown.model, m->asked);

	if (ui_of_all(ui))
		return k && processes_change_mark(ui->processes, k->name, to);
	return !(to ? watch_rename_mark(ui->shown.watch, m->asked, to)
		    : watch_drop_mark(ui->shown.watch, m->asked));
}

static void renaming(void *arg, enum prompt_event e, const char *text)
{
	struct marks *m = arg;

	if (e != PROMPT_DONE)
		return;
	if (!change(m, text))
		status_error("not renamed: no live link to the program");
}

static void deleting(void *arg, enum prompt_event e, const char *text)
{
	struct marks *m = arg;

	(void)text;
	if (e != PROMPT_DONE)
		return;
	if (!change(m, NULL))
		status_error("not deleted: no live link to the program");
}

static size_t row_of(const struct marks *m, uint32_t id)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->rows[i].id == id)
			return i;
	return 0;
}

/* First A, then B; a third pick starts again. The earlier one is always A. */
static unsigned pick(struct marks *m, uint32_t id)
{
	if (!m->picked || !m->pick_b) {
		m->a = id;
		m->b = MARK_NOW;
		m->picked = m->pick_b = true;
	} else {
		m->b = id;
		m->pick_b = false;
	}
	if (row_of(m, m->a) > row_of(m, m->b)) {
		uint32_t other = m->a;
		m->a = m->b;
		m->b = other;
	}
	m->lower.touched = false;
	return VIEW_RESORT;
}

static unsigned show_tree(struct marks *m)
{
	struct ui *ui = m->v.ui;
	unsigned bits = interval_set(ui->shown.model, m->a, m->b == MARK_NOW ? 0 : m->b);

	if (bits & VIEW_RESORT)
		ui->ops->show(ui, VIEW_TREE);
	return bits;
}

static unsigned mark_action(struct marks *m, enum action r)
{
	const struct mark_row *row = &m->rows[m->list.at];
	char label[32], question[96];

	if (r == ACT_PICK)
		return pick(m, row->id);
	if (row->id == 0 || row->id == MARK_NOW) {
		status_error("%s is reserved and cannot be changed", marks_label(row->id, label));
		return VIEW_DRAW;
	}
	m->asked = row->id;
	if (r == ACT_RENAME) {
		prompt_line(&m->v.ui->prompt, "New name: ", row->name, renaming, m);
		prompt_offers(&m->v.ui->prompt);
	} else {
		snprintf(question, sizeof question,
			 "Delete %s for all viewers?  y: delete   Esc: keep",
			 marks_label(row->id, label));
		prompt_ask(&m->v.ui->prompt, question, "y", deleting, m);
	}
	return VIEW_DRAW;
}

static unsigned action(struct view *v, enum action r)
{
	struct marks *m = (struct marks *)v;

	switch (r) {
	case ACT_FOCUS_NEXT:
	case ACT_FOCUS_PREV: m->lower_focus = !m->lower_focus && m->has_lower; return VIEW_DRAW;
	case ACT_PICK:
	case ACT_RENAME:
	case ACT_DELETE: return m->lower_focus ? VIEW_IGNORED : mark_action(m, r);
	case ACT_MARK_TREE: return show_tree(m);
	default: break;
	}
	if (m->lower_focus)
		return marks_lower_action(m, r);
	return list_action(&m->list, r, id_of, m) ? VIEW_DRAW : VIEW_IGNORED;
}

static bool escape(struct view *v)
{
	struct marks *m = (struct marks *)v;
	bool was = m->lower_focus;

	m->lower_focus = false;
	return was;
}

static const enum focus *foci(struct view *v)
{
	static const enum focus upper[] = { FOCUS_MARKS, FOCUS_LIST, FOCUS_NONE };
	static const enum focus lower[] = { FOCUS_SITES, FOCUS_LIST, FOCUS_NONE };

	return ((struct marks *)v)->lower_focus ? lower : upper;
}

void view_marks_pick(struct view *v)
{
	struct marks *m = (struct marks *)v;

	m->picked = m->pick_b = m->lower_focus = false;
	status_say("Space picks A, then B. Their diff is below; Enter shows it as a tree");
}

static void view_free(struct view *v)
{
	struct marks *m = (struct marks *)v;

	free(m->rows);
	free(m->next);
	intervals_kept_release(&m->changes);
	intervals_kept_release(&m->made);
	free(m);
}

static bool row(struct view *v, struct view_row *out)
{
	const struct marks *m = (struct marks *)v;
	const struct site *s = m->lower_focus && m->lower.at < m->changes.count
				       ? &m->changes.list[m->lower.at].site
				       : NULL;

	if (s)
		*out = (struct view_row){ s->leaf, s->file, s->line };
	return s != NULL;
}

static const struct view_ops ops = {
	.foci = foci,
	.ask = ask,
	.make = make,
	.take = take,
	.draw = draw,
	.action = action,
	.escape = escape,
	.caption = caption,
	.row = row,
	.free = view_free,
};

struct view *view_marks_new(struct ui *ui)
{
	struct marks *m = xcalloc(1, sizeof *m);

	m->v = (struct view){ &ops, ui };
	return &m->v;
}
