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

static void opened_all(size_t left)
{
	char count[32];

	if (left)
		status_say("the first %d rows are open, %s more stay closed", OPEN_ALL_MAX,
			   format_count(count, left));
}

static void want(struct tree *t, int what, uint32_t id)
{
	t->want.what = what;
	t->want.id = id;
}

static void ask(struct view *v, bool resort)
{
	struct tree *t = (struct tree *)v;

	t->want.first = !t->opened && v->ui->shown.figures.complete && !t->tv.list.touched;
	t->want.by = (enum query_column)t->tv.sort[table_view_diffing(&t->tv)];
	t->want.reverse = t->tv.reverse;
	t->want.resort = resort;
	t->asked = t->want;
	ages_want(&t->tv.ages, v->ui, tree_ages(t), &t->tv.list);
}

static void fetch(struct tree *t, bool resort)
{
	const struct row *rows;

	t->made.count = query_rows(t->tv.v.ui->shown.query, resort, &rows);
	t->made.rows = (struct row *)rows; /* the view's, once it keeps them */
}

static bool is_made_hit(const struct tree *t, row_id id)
{
	for (size_t i = 0; i < t->made.count; i++)
		if (t->made.rows[i].id == id)
			return t->made.rows[i].flags & ROW_HIT;
	return false;
}

static void pursue(struct tree *t)
{
	struct query *q = t->tv.v.ui->shown.query;
	const struct tree_want *w = &t->asked;

	switch (w->what) {
	case TREE_ROWS:
	case TREE_CHILD: return;
	case TREE_HEAVY: t->made.end = query_open_heaviest(q, w->id); break;
	case TREE_ALL: t->made.left = query_open_below(q, w->id, true, OPEN_ALL_MAX); break;
	case TREE_NODE: t->made.end = query_open_node(q, w->id); break;
	case TREE_HIT:
		if (w->hit == HIT_FIRST && is_made_hit(t, w->id))
			t->made.end = w->id;
		else
			t->made.end = query_search_next(q, w->id, w->hit == HIT_PREVIOUS);
		break;
	}
	fetch(t, w->what == TREE_NODE);
}

static uint64_t made_id(void *arg, size_t i)
{
	return ((struct tree *)arg)->made.rows[i].id;
}

static void make(struct view *v)
{
	struct tree *t = (struct tree *)v;
	struct query *q = v->ui->shown.query;

	t->made = (struct tree_made){ 0 };
	query_set_sort(q, t->asked.by, t->asked.reverse);
	if (t->asked.look)
		t->made.hits = query_hits(q, &t->made.pending);
	fetch(t, t->asked.resort);
	pursue(t);
	if (t->asked.first && t->made.count && t->asked.what == TREE_ROWS) {
		/* Sorts by the complete sums, so that the first row is the heaviest. */
		fetch(t, true);
		t->made.end = query_open_heaviest(q, t->made.rows[0].id);
		fetch(t, true);
	}
	while (ages_make(&t->tv.ages, q, false, t->made.count, made_id, t) && t->asked.resort)
		fetch(t, true);
}

static void select_id(struct tree *t, row_id id)
{
	size_t i = query_index(t->tv.v.ui->shown.query, id);

	if (i != SIZE_MAX && i < t->count)
		list_select(&t->tv.list, i, tree_id, t);
}

static void select_child(struct tree *t, row_id id)
{
	size_t at = t->tv.list.at + 1;

	if (at < t->count && t->rows[at].parent == id)
		list_select(&t->tv.list, at, tree_id, t);
}

static void select_end(struct tree *t)
{
	if (t->made.end)
		select_id(t, t->made.end);
	else if (t->asked.what == TREE_NODE)
		status_error("filter or zoom hides this call path");
	else if (t->asked.what == TREE_HIT && !(t->asked.look && !t->made.hits))
		status_error(t->crumb_count ? "no hit inside the zoom; Backspace zooms out"
					    : "the tree's filter or folding hides all hits");
	if (t->asked.what == TREE_CHILD)
		select_child(t, t->asked.id);
}

static void judge(struct tree *t)
{
	const struct ui *ui = t->tv.v.ui;

	if (!ui->compared)
		return;
	GROW(t->tv.judged, t->tv.judged_room, t->count);
	diff_judge_rows(ui->compared, ui->shown.query, t->rows, t->count, t->tv.judged);
}

/* Names that the snapshot lacks may be known by now. */
static bool hurries(struct tree *t)
{
	if (!t->asked.look || t->made.hits || t->hurried)
		return false;
	owners_hurry(t->tv.v.ui->shown.owners);
	return t->hurried = true;
}

struct part_of {
	struct procs_parts *to;
	size_t row;
};

static void add_part(void *arg, uint32_t id, bool below)
{
	const struct part_of *x = arg;
	const struct skeleton *s = x->to->skeleton;
	uint32_t node = skeleton_find(s, id);

	if (node != NO_ID)
		procs_add(x->to, x->row, skeleton_first(s, node),
			  below ? skeleton_last(s, node) : skeleton_first(s, node + 1));
}

static void add_parts(struct view *v, size_t first, size_t end, struct procs_parts *to)
{
	const struct tree *t = (struct tree *)v;

	for (size_t i = first; i < end; i++)
		query_row_nodes(v->ui->shown.query, t->rows[i].id, add_part,
				&(struct part_of){ to, i - first });
}

static bool take(struct view *v)
{
	struct tree *t = (struct tree *)v;
	if (hurries(t))
		return false;
	size_t zooms = query_zoom_depth(v->ui->shown.query);
	bool begins = !t->opened && t->made.count && v->ui->shown.figures.complete;

	query_rows_keep(v->ui->shown.query);
	t->rows = t->made.rows;
	t->count = t->made.count;
	judge(t);
	if (t->instead && find(t, t->tv.list.id) == SIZE_MAX)
		t->tv.list.id = t->instead;
	t->zooms = zooms;
	if (t->crumb_count > zooms) /* the zoomed row is gone */
		t->crumb_count = zooms;
	table_view_update(v, t->rows, t->count, find);
	select_end(t);
	if (begins && t->asked.first)
		t->tv.list.top = 0; /* drawing scrolls to the row where it must */
	t->opened |= begins;
	opened_all(t->made.left);
	ages_take(&t->tv.ages);
	procs_take(&t->tv.procs, v, &t->tv.list, add_parts);
	if (t->want.what == t->asked.what && t->want.id == t->asked.id)
		t->want.what = TREE_ROWS; /* else it is the next answer's */
	if (t->asked.look) {
		t->want.look = false;
		v->ui->ops->found(v->ui, t->made.hits, t->made.pending);
	}
	return true;
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

static void do_open(struct ui *ui, uint32_t id)
{
	query_open(ui->shown.query, id, true);
}

static void do_close(struct ui *ui, uint32_t id)
{
	query_open(ui->shown.query, id, false);
}

static void do_close_all(struct ui *ui, uint32_t unused)
{
	(void)unused;
	query_open_below(ui->shown.query, 0, false, SIZE_MAX);
}

static void do_unfold(struct ui *ui, uint32_t id)
{
	query_unfold(ui->shown.query, id);
}

static void do_invert(struct ui *ui, uint32_t unused)
{
	(void)unused;
	query_set_inverted(ui->shown.query, !query_inverted(ui->shown.query));
}

static void do_inlined(struct ui *ui, uint32_t on)
{
	query_set_inlined(ui->shown.query, on);
}

/* Its sign shows it at once, the rows below come with the next answer. */
static unsigned set_open(struct tree *t, struct row *r, bool open)
{
	tree_change(t, open ? do_open : do_close, r->id);
	r->flags = open ? r->flags | ROW_OPEN : r->flags & ~(unsigned)ROW_OPEN;
	return VIEW_REFRESH;
}

/* Opening all would open it again. */
static unsigned close_row(struct tree *t, struct row *r)
{
	t->want.what = TREE_ROWS;
	return set_open(t, r, false);
}

/* The row above it that it is a child of; NULL = none. */
static struct row *parent_of(const struct tree *t, const struct row *r)
{
	for (struct row *at = t->rows + (r - t->rows); r->parent && at > t->rows;)
		if ((--at)->id == r->parent)
			return at;
	return NULL;
}

static unsigned go_left(struct tree *t, struct row *r)
{
	if ((r->flags & ROW_OPEN) && !(r->flags & ROW_LEAF))
		return close_row(t, r);
	const struct row *parent = parent_of(t, r);
	if (parent)
		list_select(&t->tv.list, (size_t)(parent - t->rows), tree_id, t);
	return VIEW_DRAW;
}

static unsigned go_right(struct tree *t, struct row *r)
{
	if (r->flags & ROW_LEAF)
		return VIEW_DRAW;
	if (r->flags & ROW_OPEN) {
		select_child(t, r->id);
		return VIEW_DRAW;
	}
	want(t, TREE_CHILD, r->id);
	return set_open(t, r, true);
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

static unsigned toggle(struct tree *t, struct row *r)
{
	if (r->flags & ROW_LEAF)
		return show_detail(t, r);
	return r->flags & ROW_OPEN ? close_row(t, r) : set_open(t, r, true);
}

unsigned view_tree_inlined(struct view *v, bool on)
{
	struct tree *t = (struct tree *)v;
	const struct row *r = tree_selected(t),
			 *next = r && t->tv.list.at + 1 < t->count ? r + 1 : NULL;
	row_id below = next && next->parent == r->id ? next->id : 0;

	/* An inlined row merges into its caller: the row above, or below in an inverted tree. */
	t->instead = !r ? 0 : query_inverted(v->ui->shown.query) ? below : r->parent;
	tree_change(t, do_inlined, on);
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
	t->want.what = TREE_ROWS;
	for (; r; r = parent_of(t, r))
		t->instead = r->id;
	tree_change(t, do_close_all, 0);
	return VIEW_REFRESH;
}

static unsigned row_action(struct tree *t, struct row *r, enum action req)
{
	t->tv.list.touched = true;
	t->tv.list.id = r->id;
	if (opens_nothing(r, req))
		return VIEW_DRAW;
	switch (req) {
	case ACT_TREE_TOGGLE: return toggle(t, r);
	case ACT_TREE_RIGHT: return go_right(t, r);
	case ACT_TREE_LEFT: return go_left(t, r);
	case ACT_TREE_UNFOLD: tree_change(t, do_unfold, r->id); return VIEW_REFRESH;
	case ACT_TREE_MORE: return set_open(t, r, true);
	case ACT_TREE_LESS: return close_row(t, r);
	case ACT_TREE_ALL: want(t, TREE_ALL, r->id); return VIEW_REFRESH;
	case ACT_TREE_NONE: return close_all(t, r);
	case ACT_TREE_HEAVY: want(t, TREE_HEAVY, r->id); return VIEW_REFRESH;
	case ACT_ZOOM: return tree_zoom(t, r);
	case ACT_ZOOM_LIB: return tree_zoom_library(t, r);
	case ACT_DETAIL: return show_detail(t, r);
	default: return VIEW_IGNORED;
	}
}

static unsigned action(struct view *v, enum action r)
{
	struct tree *t = (struct tree *)v;

	if (t->want.what != TREE_ALL)
		t->want.what = TREE_ROWS; /* the user selects from now on */
	t->instead = 0;
	t->searching = false;
	unsigned bits = table_view_action(v, r);
	if (bits != VIEW_IGNORED)
		return bits;
	switch (r) {
	case ACT_ZOOM_OUT: return tree_zoom_out(t);
	case ACT_INVERT:
		t->want.what = TREE_ROWS;
		tree_change(t, do_invert, 0);
		t->zooms = 0;
		t->tv.list.touched = t->opened = false;
		return VIEW_RESORT;
	case ACT_INLINED: return view_tree_inlined(v, !query_inlined(v->ui->shown.query));
	default: break;
	}
	struct row *row = tree_selected(t);
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

static void do_search(struct ui *ui, uint32_t unused)
{
	(void)unused;
	query_search(ui->shown.query, ui->shown.search);
}

static long search(struct view *v, const char *text, size_t *pending)
{
	struct tree *t = (struct tree *)v;

	if (!t->searching)
		t->before_search = t->count ? t->rows[t->tv.list.at].id : 0;
	t->searching = *text;
	tree_change(t, do_search, 0);
	t->want.look = *text;
	t->hurried = false;
	*pending = 0;
	return *text ? HITS_COME : 0;
}

static unsigned next_hit(struct view *v, enum hit which)
{
	struct tree *t = (struct tree *)v;
	const struct row *r = tree_selected(t);

	want(t, TREE_HIT, which == HIT_FIRST ? t->before_search : r ? r->id : 0);
	t->want.hit = which;
	return VIEW_REFRESH;
}

void view_tree_select_node(struct view *v, uint32_t node)
{
	struct tree *t = (struct tree *)v;

	t->opened = true;
	want(t, TREE_NODE, node);
}

static const struct view_ops ops = {
	.tables = tree_tables,
	.shows = tree_shows,
	.sort = table_view_sort,
	.foci = view_keys,
	.keys = { FOCUS_TREE, FOCUS_LIST },
	.ask = ask,
	.make = make,
	.take = take,
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
