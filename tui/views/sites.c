/* SPDX-License-Identifier: MIT
 *
 * sites.c - call sites as a flat list: one row per allocating function or line.
 */
#include "base/map.h"
#include "views/amounts.h"
#include "views/sites.h"
#include "views/views.h"
#include "widgets/columns.h"
#include "widgets/status.h"
#include "screen/term.h"

#include <stdlib.h>
#include <string.h>

#define CALLER_MIN 8     /* columns; less of a name could be another one's */
#define WRITTEN_NODES 6u /* of a stack: some wrappers, the call site, its caller */

static struct value churn(const struct line *l)
{
	const struct site *s = l->row;
	const struct ui *ui = ((const struct view *)l->view)->ui;

	if (s->amounts.rated == KNOWN_NONE || !s->churn_known || figures_over(&ui->shown.figures))
		return value_none();
	return (struct value){ .n = (int64_t)s->churn_bytes, .estimate = s->amounts.sampled != 0 };
}

static struct value life(const struct line *l)
{
	const struct site *s = l->row;
	bool known = s->life != LIFE_UNKNOWN && s->amounts.rated != KNOWN_NONE;

	return known ? (struct value){ .n = (int64_t)s->life_ns } : value_none();
}

static void draw_life(const struct line *l, struct cell c)
{
	static const char *const signs[] = {
		[LIFE_BELOW] = "< ", [LIFE_ABOUT] = "", [LIFE_ABOVE] = "> "
	};
	const struct site *s = l->row;
	char span[32], text[48];

	if (life(l).known != KNOWN)
		return;
	snprintf(text, sizeof text, "%s%s", signs[s->life], text_span_short(span, s->life_ns));
	draw_right(c.a, c.y, c.x, c.w, s->life == LIFE_ABOVE ? ROLE_DIM : ROLE_NUMBER, text);
}

/* "call site < caller" */
static void draw_site(const struct line *l, struct cell c)
{
	const struct site *s = l->row;
	cell_name(c, &(struct cell_name){ .name = s->name ? s->name : "?",
					  .full = s->function,
					  .role = ROLE_NAME,
					  .caller = s->caller,
					  .caller_least = CALLER_MIN });
}

static const char *site_text(const struct line *l, size_t i)
{
	const struct site *s = l->row;
	const char *const texts[] = { s->name, s->caller, s->function };
	size_t known = 0;

	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		if (texts[k] && known++ == i)
			return texts[k];
	return NULL;
}

/* Without a file, OWNER says it. */
static void draw_at(const struct line *l, struct cell c)
{
	const struct site *s = l->row;

	if (s->file)
		cell_source_line(c, cells_letter(s->owner), s->file, s->line, NULL);
}

static void draw_owner(const struct line *l, struct cell c)
{
	const struct site *s = l->row;

	cell_owner(c, cells_letter(s->owner), s->owner ? s->owner->name : "?");
}

static COLUMN(churn, "CHURN/s", 8, BY_CHURN, KIND_BYTES, .value = churn);
static COLUMN(life, "LIFE", 8, BY_LIFE, KIND_SPAN, .value = life, .own = draw_life);
static COLUMN(at, "AT", 15, -1, KIND_OWN, .wide = 22, .own = draw_at);
COLUMN(site, "CALL SITE < CALLER", 0, BY_NAME, KIND_OWN, .own = draw_site, .text = site_text);
COLUMN(owner, "OWNER", 14, -1, KIND_OWN, .direct = DIRECT_CALLER, .wide = 20, .own = draw_owner);

/* Sorted by calls, sites show lifetimes first; otherwise ages. */
#define PLAIN(blocks_rank, calls_rank, life_rank, age_rank)                                        \
	SHOW(live), SHOW(blocks, blocks_rank), SHOW(calls, calls_rank), SHOW(in_all, 5),           \
		SHOW(churn, 8), SHOW(life, life_rank), SHOW(age, age_rank), SHOW(oldest, 7),       \
		SHOW(site), SHOW(at, 6), SHOW(owner, 1, 0, 22)
#define DIFF(live)                                                                                 \
	SHOW(born, 2), SHOW(gone, 2), SHOW(net), SHOW(live, 3), SHOW(churn, 8), SHOW(life, 7),     \
		SHOW(age, 4), SHOW(oldest, 6), SHOW(site), SHOW(at, 5), SHOW(owner, 1, 0, 22)

static const struct table_column plain[] = { PLAIN(2, 3, 5, 4) };
static const struct table_column by_churn[] = { PLAIN(3, 1, 2, 5) };
static const struct table_column since[] = { DIFF(live) };
static const struct table_column between[] = { DIFF(live_now) };
/* Of all processes, whose blocks have no ages. */
#define ALL_PLAIN(blocks_rank, calls_rank, life_rank)                                              \
	SHOW(live), SHOW(blocks, blocks_rank), SHOW(procs, 1), SHOW(calls, calls_rank),            \
		SHOW(in_all, 5), SHOW(churn, 8), SHOW(life, life_rank), SHOW(site), SHOW(at, 6),   \
		SHOW(owner, 1, 0, 22)
static const struct table_column all_plain[] = { ALL_PLAIN(2, 3, 5) };
static const struct table_column all_by_churn[] = { ALL_PLAIN(3, 1, 2) };
static const struct table_column all_since[] = {
	SHOW(born, 2),  SHOW(gone, 2), SHOW(net),   SHOW(live, 3),
	SHOW(procs, 2), SHOW(site),    SHOW(at, 5), SHOW(owner, 1, 0, 22),
};
static const struct table_column of_sessions[] = { COMPARED_COLUMNS(3), SHOW(site), SHOW(at, 6),
						   SHOW(owner, 2, 0, 22) };

uint64_t site_list_id(void *arg, size_t i)
{
	return ((struct site_list *)arg)->rows[i].id;
}

static uint64_t made_id(void *arg, size_t i)
{
	return ((struct site_list *)arg)->made.list[i].id;
}

void site_list_ask(struct site_list *s, enum query_column by, bool resort, enum ages_of ages)
{
	s->by = by;
	s->reverse = s->t.reverse;
	s->resort = resort;
	ages_want(&s->t.ages, s->t.v.ui, ages, &s->t.list);
}

void site_list_make(struct view *v)
{
	struct site_list *s = (struct site_list *)v;
	struct query *q = v->ui->shown.query;
	const struct site *rows;

	do {
		query_sites(q, s->by, s->reverse, s->resort, &rows);
		query_sites_keep(q, &s->made);
	} while (ages_make(&s->t.ages, q, true, s->made.count, made_id, s) && s->resort);
}

/* A site's stacks are apart in the call tree. */
static void add_parts(struct view *v, size_t first, size_t end, struct procs_parts *to)
{
	const struct site_list *s = (struct site_list *)v;
	const struct skeleton *k = to->skeleton;
	struct map row_of = { 0 };

	for (size_t i = first; i < end; i++)
		map_set(&row_of, s->rows[i].id, (uint32_t)(i - first) + 1);
	for (uint32_t stack = 0; stack < k->stacks; stack++) {
		uint32_t site = query_site_of(v->ui->shown.query, k->id[k->node_of_stack[stack]]);
		uint32_t row = site ? map_get(&row_of, site, 0) : 0;
		if (row)
			procs_add(to, row - 1, stack, stack + 1);
	}
	map_release(&row_of);
}

bool site_list_take(struct view *v)
{
	struct site_list *s = (struct site_list *)v;
	struct sites_kept was = s->shown;

	s->shown = s->made;
	s->made = was;
	s->rows = s->shown.list;
	s->empty = s->folds ? s->shown.empty : 0;
	s->count = s->shown.count - s->empty;
	s->window_ns = query_window(v->ui->shown.query);
	if (v->ui->compared) {
		GROW(s->t.judged, s->t.judged_room, s->count);
		diff_judge_sites(v->ui->compared, v->ui->shown.query, s->rows, s->count,
				 s->t.judged);
	}
	table_view_update(v, s->rows, s->count, NULL);
	ages_take(&s->t.ages);
	procs_take(&s->t.procs, v, &s->t.list, add_parts);
	return true;
}

void site_list_free(struct view *v)
{
	struct site_list *s = (struct site_list *)v;

	sites_kept_release(&s->shown);
	sites_kept_release(&s->made);
	table_view_free(v);
}

static void ask(struct view *v, bool resort)
{
	struct site_list *s = (struct site_list *)v;
	int sort = s->t.sort[table_view_diffing(&s->t)];
	bool shown = !model_of_sessions(v->ui->shown.model) &&
		     (table_shows(view_table(v), term_columns(), &column_age) ||
		      table_shows(view_table(v), term_columns(), &column_oldest));

	site_list_ask(s, (enum query_column)sort, resort, ages_wanted(shown, sort));
}

bool site_list_dim(void *arg, size_t row)
{
	const struct site_list *s = arg;

	return s->rows[row].flags & (ROW_ZERO | ROW_EXPECTED) ||
	       (s->t.v.ui->compared && s->t.judged[row].noise);
}

#define SITES(columns)                                                                             \
	TABLE(VIEW_SITES, columns, struct site, site_list_dim, site_list_id, table_view_hit)
static const struct table tables[] = { SITES(plain),       SITES(since),       SITES(between),
				       SITES(of_sessions), SITES(by_churn),    SITES(all_plain),
				       SITES(all_since),   SITES(all_by_churn) };
enum { BY_CHURN_TABLE = TABLE_SESSIONS + 1, ALL_TABLE, ALL_SINCE_TABLE, ALL_BY_CHURN_TABLE };

static size_t shows(const struct view *v)
{
	size_t of_interval = table_view_shows(v);
	int by = ((const struct site_list *)v)->t.sort[0];
	bool churns = by == BY_RATE || by == BY_CHURN || by == BY_LIFE;

	if (!procs_known(v->ui) || of_interval > TABLE_SINCE)
		return of_interval == TABLE_PLAIN && churns ? BY_CHURN_TABLE : of_interval;
	return of_interval == TABLE_SINCE ? ALL_SINCE_TABLE
	       : churns                   ? ALL_BY_CHURN_TABLE
					  : ALL_TABLE;
}

static void draw(struct view *v, const struct area *a)
{
	struct site_list *s = (struct site_list *)v;
	struct area rows = *a;
	char n[32];

	rows.h -= s->empty != 0;
	table_view_draw_why(v, &rows);
	if (s->empty) {
		size_t below = s->count - s->t.list.top, height = (size_t)s->t.list.height;
		draw_printf(a, 1 + (int)(below < height ? below : height), 2, ROLE_DIM,
			    "... %s more without memory", format_count(n, s->empty));
	}
	/* Hurries upwards, because the last one hurried comes first. */
	for (size_t i = s->t.list.top + (size_t)s->t.list.height; i-- > s->t.list.top;)
		if (i < s->count)
			query_hurry(v->ui->shown.query, s->rows[i].leaf, WRITTEN_NODES);
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	struct site_list *s = (struct site_list *)v;
	char interval[320], count[32], words[64];

	interval_name(v->ui->shown.model, brief, interval, sizeof interval);
	format_count(count, s->count);
	if (!table_view_diffing(&s->t))
		snprintf(out, size, "%s site%s%s", count, format_s(s->count),
			 ages_words(&s->t.ages, v->ui, words, sizeof words));
	else if (brief)
		snprintf(out, size, "%s", interval);
	else
		snprintf(out, size, "%s site%s  %s", count, format_s(s->count), interval);
}

bool view_sites_by_rate(const struct view *v)
{
	return ((const struct site_list *)v)->t.sort[0] == BY_RATE;
}

/* NULL = none */
static const struct site *selected(const struct site_list *s)
{
	return s->t.list.at < s->count ? &s->rows[s->t.list.at] : NULL;
}

unsigned site_list_action(struct view *v, enum action r)
{
	struct ui *ui = v->ui;
	unsigned bits = table_view_action(v, r);

	if (bits != VIEW_IGNORED)
		return bits;
	const struct site *site = selected((struct site_list *)v);
	if (!site)
		return VIEW_IGNORED;
	switch (r) {
	case ACT_SITE_TREE: return ui->ops->show_node(ui, site->leaf);
	case ACT_SITE_DETAIL: return ui->ops->show_detail(ui, site->leaf, false, site->stacks);
	case ACT_EXPECT:
		/* The row sinks to the end, and the cursor with it: x again takes it back. */
		list_hold(&((struct site_list *)v)->t.list);
		return ui->ops->expect(ui, site);
	case ACT_SITE_ZOOM:
		if (!site->owner)
			return VIEW_DRAW;
		return ui->ops->show_owner(ui, site->owner->module, site->owner->name);
	default: return VIEW_IGNORED;
	}
}

bool site_list_row(struct view *v, struct view_row *out)
{
	const struct site *s = selected((struct site_list *)v);

	if (s)
		*out = (struct view_row){ s->leaf, s->file, s->line };
	return s != NULL;
}

long site_list_search(struct view *v, const char *text, size_t *pending)
{
	const struct site_list *s = (struct site_list *)v;
	long hits = table_view_search(v, text, pending);

	for (size_t i = 0; i < s->count; i++)
		*pending += (s->rows[i].flags & ROW_PENDING) != 0;
	return hits;
}

/* Or by LIVE again; the largest first. */
static void by_calls(struct site_list *s)
{
	s->t.sort[0] = s->t.sort[0] == BY_RATE ? BY_LIVE : BY_RATE;
	s->t.reverse = false;
	if (s->t.sort[0] == BY_RATE && columns_hidden(VIEW_SITES, "CALLS/s"))
		status_say("sorted by CALLS/s, a hidden column; c shows it");
}

/* Moves the sort to the next column that will be shown: the shown columns depend on the sort. */
static void sort_beside(struct site_list *s, int step)
{
	int *sort = &s->t.sort[table_view_diffing(&s->t)], was = *sort;

	for (int at = was, next; (next = table_sort_next(view_table(&s->t.v), at, step)) != at;
	     at = next) {
		*sort = next;
		if (table_shows_sort(view_table(&s->t.v), next))
			return;
	}
	*sort = was;
}

static unsigned action(struct view *v, enum action r)
{
	struct site_list *s = (struct site_list *)v;

	switch (r) {
	case ACT_SORT_LEFT: sort_beside(s, -1); return VIEW_RESORT;
	case ACT_SORT_RIGHT: sort_beside(s, 1); return VIEW_RESORT;
	case ACT_CHURN:
		if (table_view_diffing(&s->t))
			status_error("a diff has no CALLS/s; d: diff off");
		else
			by_calls(s);
		return VIEW_RESORT;
	default: return site_list_action(v, r);
	}
}

static const struct view_ops ops = {
	.tables = tables,
	.shows = shows,
	.sort = table_view_sort,
	.foci = view_keys,
	.keys = { FOCUS_SITES, FOCUS_LIST },
	.ask = ask,
	.make = site_list_make,
	.take = site_list_take,
	.draw = draw,
	.action = action,
	.caption = caption,
	.row = site_list_row,
	.search = site_list_search,
	.next_hit = table_view_next_hit,
	.free = site_list_free,
};

struct view *view_sites_new(struct ui *ui)
{
	struct site_list *s = xcalloc(1, sizeof *s);

	s->t.v = (struct view){ &ops, ui };
	s->folds = true;
	s->t.sort[0] = BY_LIVE;
	s->t.sort[1] = BY_NET;
	return &s->t.v;
}
