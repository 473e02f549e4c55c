/* SPDX-License-Identifier: MIT
 *
 * tree.c - the call tree of live memory, from the program's entry down or from the allocation up.
 * This file handles the keys; query/answers/rows.c owns the rows, their order and which are open;
 * views/tree/rows.c draws them.
 */
#include "views/tree/tree.h"
#include "views/views.h"

#include <stdlib.h>

#define OPEN_ALL_MAX 5000
#define WRAPPERS 4u /* between an allocation and its call site, as a rule */

static size_t find(void *arg, uint64_t id)
{
	return query_index(((struct tree *)arg)->tv.v.ui->shown.query, (row_id)id);
}

static void judge(struct tree *t)
{
	const struct ui *ui = t->tv.v.ui;

	if (!ui->compared)
		return;
	GROW(t->tv.judged, t->tv.judged_room, t->count);
	diff_judge_rows(ui->compared, ui->shown.query, t->rows, t->count, t->tv.judged);
}

static void fetch(struct tree *t, bool resort)
{
	struct query *q = t->tv.v.ui->shown.query;

	query_set_sort(q, (enum query_column)t->tv.sort[table_view_diffing(&t->tv)], t->tv.reverse);
	t->count = query_rows(q, resort, &t->rows);
	judge(t);
	if (t->instead && find(t, t->tv.list.id) == SIZE_MAX)
		t->tv.list.id = t->instead;
	if (t->crumb_count > query_zoom_depth(q)) /* the zoomed row is gone */
		t->crumb_count = query_zoom_depth(q);
	table_view_update(&t->tv.v, t->rows, t->count, find);
}

static void select_id(struct tree *t, row_id id)
{
	size_t i = query_index(t->tv.v.ui->shown.query, id);

	if (i != SIZE_MAX && i < t->count)
		list_select(&t->tv.list, i, tree_id, t);
}

static void opened_all(size_t left)
{
	char count[32];

	if (left)
		status_say("the first %d rows are open, %s more stay closed", OPEN_ALL_MAX,
			   format_count(count, left));
}

/* Carries out the pending action as far as this slice goes; the next slice continues. */
static void pursue(struct tree *t)
{
	struct query *q = t->tv.v.ui->shown.query;
	row_id end = 0;
	size_t left = 0;

	switch (t->want) {
	case WANT_NOTHING: return;
	case WANT_HEAVY:
	case WANT_FIRST: end = query_open_heaviest(q, t->want_id); break;
	case WANT_ALL: left = query_open_below(q, t->want_id, true, OPEN_ALL_MAX); break;
	case WANT_NODE: end = query_open_node(q, t->want_id); break;
	}
	fetch(t, t->want == WANT_FIRST || t->want == WANT_NODE);
	if (end)
		select_id(t, end);
	else if (t->want == WANT_NODE)
		status_error("filter or zoom hides this call path");
	if (t->want == WANT_FIRST && end)
		t->tv.list.top = 0; /* drawing scrolls to the row where it must */
	opened_all(left);
	t->want = WANT_NOTHING;
}

static void want(struct tree *t, int what, uint32_t id)
{
	t->want = what;
	t->want_id = id;
	pursue(t);
}

static void refresh(struct view *v, bool resort)
{
	struct tree *t = (struct tree *)v;

	fetch(t, resort);
	pursue(t);
	if (!t->opened && t->count && v->ui->shown.figures.complete) {
		t->opened = true;
		if (!t->tv.list.touched) {
			/* Sorts by the complete sums, so that the first row is the heaviest. */
			fetch(t, true);
			want(t, WANT_FIRST, t->rows[0].id);
		}
	}
	if (ages_take(&t->tv.ages, v->ui, false, tree_ages(t), &t->tv.list, tree_id, t) && resort)
		refresh(v, true);
}

/* The names in the rows that are on the screen; the uppermost come first. */
static void hurry_names(const struct tree *t)
{
	size_t end = t->tv.list.top + (size_t)t->tv.list.height;
	bool inverted = query_inverted(t->tv.v.ui->shown.query);

	for (size_t i = end < t->count ? end : t->count; i-- > t->tv.list.top;) {
		const struct row *r = &t->rows[i];
		if (!(r->flags & ROW_REST))
			query_hurry(t->tv.v.ui->shown.query, r->node,
				    r->folded + (inverted ? r->depth + WRAPPERS : 0));
	}
}

static void draw(struct view *v, const struct area *a)
{
	struct tree *t = (struct tree *)v;
	int panel = a->h >= 14 && t->count ? tree_panel_height(t) : 0;
	struct area list = area_sub(a, 0, 0, a->h - panel, -1);

	table_view_draw_why(v, &list);
	hurry_names(t);
	if (panel) {
		struct area low = area_sub(a, a->h - panel, 0, panel, -1);
		tree_panel(t, &low);
	}
}

/* Opening all would open it again. */
static unsigned close_row(struct tree *t, const struct row *r)
{
	t->want = WANT_NOTHING;
	query_open(t->tv.v.ui->shown.query, r->id, false);
	return VIEW_REFRESH;
}

static unsigned go_left(struct tree *t, const struct row *r)
{
	struct query *q = t->tv.v.ui->shown.query;

	if ((r->flags & ROW_OPEN) && !(r->flags & ROW_LEAF))
		return close_row(t, r);
	size_t parent = r->parent ? query_index(q, r->parent) : SIZE_MAX;
	if (parent < t->count)
		list_select(&t->tv.list, parent, tree_id, t);
	return VIEW_DRAW;
}

static unsigned go_right(struct tree *t, const struct row *r)
{
	row_id id = r->id;

	if (r->flags & ROW_LEAF)
		return VIEW_DRAW;
	if (!(r->flags & ROW_OPEN)) {
		query_open(t->tv.v.ui->shown.query, id, true);
		fetch(t, false);
	}
	size_t at = t->tv.list.at + 1;
	if (at < t->count && t->rows[at].parent == id)
		list_select(&t->tv.list, at, tree_id, t);
	return VIEW_DRAW;
}

/* A row of many small ones has no path of its own. */
static unsigned show_detail(struct tree *t, const struct row *r)
{
	if (r->flags & ROW_REST)
		status_error("this row folds several: Enter opens it; each has its own detail");
	else
		t->tv.v.ui->ops->show_detail(t->tv.v.ui, r->node, true, r->paths);
	return VIEW_DRAW;
}

static unsigned toggle(struct tree *t, const struct row *r)
{
	if (r->flags & ROW_LEAF)
		return show_detail(t, r);
	if (r->flags & ROW_OPEN)
		return close_row(t, r);
	query_open(t->tv.v.ui->shown.query, r->id, true);
	return VIEW_REFRESH;
}

unsigned view_tree_inlined(struct view *v, bool on)
{
	struct tree *t = (struct tree *)v;
	const struct row *r = tree_selected(t),
			 *next = r && t->tv.list.at + 1 < t->count ? r + 1 : NULL;
	row_id below = next && next->parent == r->id ? next->id : 0;

	/* An inlined row merges into its caller: the row above, or below in an inverted tree. */
	t->instead = !r ? 0 : query_inverted(v->ui->shown.query) ? below : r->parent;
	query_set_inlined(v->ui->shown.query, on);
	status_say(on ? "inlined functions: separate rows"
		      : "inlined functions: merged into their caller");
	return VIEW_RESORT | VIEW_ANEW;
}

/* Reports a row that cannot open: a key without effect would look broken. */
static bool opens_nothing(const struct row *r, enum action req)
{
	if (req != ACT_TREE_MORE && req != ACT_TREE_ALL && req != ACT_TREE_HEAVY)
		return false;
	if (r->flags & ROW_REST)
		status_error("this row folds several: Enter opens it");
	else if (r->flags & ROW_LEAF)
		status_error(
			"no row below: this function allocates itself; Enter shows its detail");
	return r->flags & (ROW_REST | ROW_LEAF);
}

/* The selection goes to the outermost row above it. */
static unsigned close_all(struct tree *t, const struct row *r)
{
	struct query *q = t->tv.v.ui->shown.query;

	t->want = WANT_NOTHING;
	t->instead = r->id;
	while (r->parent && query_index(q, r->parent) < t->count) {
		t->instead = r->parent;
		r = &t->rows[query_index(q, r->parent)];
	}
	query_open_below(q, 0, false, SIZE_MAX);
	return VIEW_REFRESH;
}

static unsigned row_action(struct tree *t, const struct row *r, enum action req)
{
	struct query *q = t->tv.v.ui->shown.query;

	t->tv.list.touched = true;
	t->tv.list.id = r->id;
	if (opens_nothing(r, req))
		return VIEW_DRAW;
	switch (req) {
	case ACT_TREE_TOGGLE: return toggle(t, r);
	case ACT_TREE_RIGHT: return go_right(t, r);
	case ACT_TREE_LEFT: return go_left(t, r);
	case ACT_TREE_UNFOLD: query_unfold(q, r->id); return VIEW_REFRESH;
	case ACT_TREE_MORE: query_open(q, r->id, true); return VIEW_REFRESH;
	case ACT_TREE_LESS: return close_row(t, r);
	case ACT_TREE_ALL: want(t, WANT_ALL, r->id); return VIEW_REFRESH;
	case ACT_TREE_NONE: return close_all(t, r);
	case ACT_TREE_HEAVY: want(t, WANT_HEAVY, r->id); return VIEW_DRAW;
	case ACT_ZOOM: return tree_zoom(t, r);
	case ACT_ZOOM_LIB: return tree_zoom_library(t, r);
	case ACT_DETAIL: return show_detail(t, r);
	default: return VIEW_IGNORED;
	}
}

static unsigned action(struct view *v, enum action r)
{
	struct tree *t = (struct tree *)v;

	if (t->want != WANT_ALL)
		t->want = WANT_NOTHING; /* the user selects from now on */
	t->instead = 0;
	unsigned bits = table_view_action(v, r);
	if (bits != VIEW_IGNORED)
		return bits;
	switch (r) {
	case ACT_ZOOM_OUT: return tree_zoom_out(t);
	case ACT_INVERT:
		t->want = WANT_NOTHING;
		query_set_inverted(v->ui->shown.query, !query_inverted(v->ui->shown.query));
		t->tv.list.touched = t->opened = false;
		return VIEW_RESORT;
	case ACT_INLINED: return view_tree_inlined(v, !query_inlined(v->ui->shown.query));
	default: break;
	}
	const struct row *row = tree_selected(t);
	return row ? row_action(t, row, r) : VIEW_IGNORED;
}

static bool escape(struct view *v)
{
	struct tree *t = (struct tree *)v;

	return tree_zoom_out(t) == VIEW_RESORT;
}

static bool row(struct view *v, struct view_row *out)
{
	const struct row *r = tree_selected((struct tree *)v);

	if (!r || r->flags & ROW_REST)
		return false;
	*out = (struct view_row){ r->node, r->file, r->line };
	return true;
}

static long search(struct view *v, const char *text, size_t *pending)
{
	return (long)query_search(v->ui->shown.query, text, pending);
}

static unsigned next_hit(struct view *v, bool backwards)
{
	struct tree *t = (struct tree *)v;
	const struct row *r = tree_selected(t);
	row_id id = query_search_next(v->ui->shown.query, r ? r->id : 0, backwards);

	fetch(t, false);
	if (id)
		select_id(t, id);
	else
		status_error(query_zoom_depth(v->ui->shown.query)
				     ? "no hit inside the zoom; Backspace zooms out"
				     : "the tree's filter or folding hides all hits");
	return VIEW_DRAW;
}

void view_tree_select_node(struct view *v, uint32_t node)
{
	struct tree *t = (struct tree *)v;

	t->opened = true;
	want(t, WANT_NODE, node);
}

static const struct view_ops ops = {
	.tables = tree_tables,
	.shows = table_view_shows,
	.sort = table_view_sort,
	.foci = view_keys,
	.keys = { FOCUS_TREE, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.action = action,
	.escape = escape,
	.caption = tree_caption,
	.row = row,
	.search = search,
	.next_hit = next_hit,
	.free = table_view_free,
};

struct view *view_tree_new(struct ui *ui)
{
	struct tree *t = xcalloc(1, sizeof *t);

	t->tv.v = (struct view){ &ops, ui };
	t->tv.sort[0] = BY_LIVE;
	t->tv.sort[1] = BY_NET;
	return &t->tv.v;
}
