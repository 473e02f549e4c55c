/* SPDX-License-Identifier: MIT
 *
 * sites.c - call sites as a flat list: one row per allocating function or line.
 */
#include "views/views.h"
#include "widgets/cells.h"
#include "widgets/columns.h"
#include "views/sites.h"
#include "widgets/status.h"
#include "screen/term.h"

#include <stdlib.h>
#include <string.h>

enum { C_LIVE, C_BLOCKS, C_RATE, C_ALLOC, C_CHURN, C_LIFE, C_AGE, C_OLDEST, C_SITE, C_AT, C_OWNER };

#define WRITTEN_NODES 6u /* of a stack: some wrappers, the call site, its caller */

/* What all have; the higher a rank, the sooner its column goes. */
/* clang-format off */
#define SITE_COLUMNS(life_rank, age_rank, oldest_rank, at_rank)                                    \
	[C_CHURN] = { .title = "CHURN/s", .width = 8, .bytes = SIZE_HELD, .rank = 8,               \
	  .sort = BY_CHURN },                                                                      \
	[C_LIFE] = { .title = "LIFE", .width = 8, .rank = (life_rank), .sort = BY_LIFE },          \
	[C_AGE] = { .title = "AGE", .width = 7, .rank = (age_rank), .sort = BY_AGE },              \
	[C_OLDEST] = { .title = "OLDEST", .width = 7, .rank = (oldest_rank), .sort = BY_OLDEST },  \
	[C_SITE] = { .title = "CALL SITE < CALLER", .left = true, .sort = BY_NAME },               \
	[C_AT] = { .title = "AT", .width = 15, .wide = 22, .rank = (at_rank), .sort = -1,          \
	  .left = true },                                                                          \
	[C_OWNER] = { .title = "OWNER", .direct = DIRECT_CALLER, .width = 14, .wide = 22,          \
	  .rank = 1, .sort = -1, .left = true }

/* Sorted by calls, sites show lifetimes first; otherwise ages. */
#define PLAIN_COLUMNS(blocks_rank, rate_rank, life_rank, age_rank)                                 \
	{                                                                                          \
		[C_LIVE] = { .title = "LIVE", .width = 8, .bytes = SIZE_HELD, .sort = BY_LIVE },   \
		[C_BLOCKS] = { .title = "BLOCKS", .width = 8, .wide = 10, .rank = (blocks_rank),   \
		  .sort = BY_BLOCKS },                                                             \
		[C_RATE] = { .title = "CALLS/s", .width = 8, .rank = (rate_rank),                  \
		  .sort = BY_RATE },                                                               \
		[C_ALLOC] = { .title = "IN ALL", .width = 8, .bytes = SIZE_IN_ALL, .rank = 5,      \
		  .sort = BY_ALLOC },                                                              \
		SITE_COLUMNS(life_rank, age_rank, 7, 6)                                            \
	}

static const struct column plain_columns[] = PLAIN_COLUMNS(2, 3, 5, 4);
static const struct column churn_columns[] = PLAIN_COLUMNS(3, 1, 2, 5);

enum { D_BORN, D_GONE, D_NET, D_LIVE };

#define DIFF_COLUMNS(live)                                                                         \
	{                                                                                          \
		[D_BORN] = { .title = "BORN", .width = 8, .bytes = SIZE_HELD, .rank = 2,           \
		  .sort = BY_BORN },                                                               \
		[D_GONE] = { .title = "GONE", .width = 8, .bytes = SIZE_HELD, .rank = 2,           \
		  .sort = BY_GONE },                                                               \
		[D_NET] = { .title = "NET", .width = 9, .bytes = SIZE_HELD, .sort = BY_NET },      \
		[D_LIVE] = { .title = (live), .width = 8, .bytes = SIZE_HELD, .rank = 3,           \
		  .sort = BY_LIVE },                                                               \
		SITE_COLUMNS(7, 4, 6, 5)                                                           \
	}
/* clang-format on */

static const struct column since_columns[] = DIFF_COLUMNS("LIVE");
static const struct column between_columns[] =
	DIFF_COLUMNS("LIVE NOW"); /* which is not the interval's */

enum { S_A, S_B, S_NET, S_KIND, S_BLOCKS, S_SITE, S_AT, S_OWNER };

static const struct column session_columns[] = {
	JUDGED_COLUMNS(3),
	[S_SITE] = { .title = "CALL SITE < CALLER", .left = true, .sort = BY_NAME },
	[S_AT] = { .title = "AT", .width = 15, .wide = 22, .rank = 6, .sort = -1, .left = true },
	[S_OWNER] = { .title = "OWNER",
		      .direct = DIRECT_CALLER,
		      .width = 14,
		      .wide = 22,
		      .rank = 2,
		      .sort = -1,
		      .left = true },
};

uint64_t site_list_id(void *arg, size_t i)
{
	return ((struct site_list *)arg)->rows[i].id;
}

static const struct table *table(const struct site_list *s);

static void refresh(struct view *v, bool resort)
{
	struct site_list *s = (struct site_list *)v;

	s->count = query_sites(v->ui->shown.query,
			       (enum query_column)s->t.sort[table_view_diffing(&s->t)],
			       s->t.reverse, resort, &s->rows);
	if (v->ui->compared) {
		GROW(s->judged, s->judged_room, s->count);
		diff_judge_sites(v->ui->compared, v->ui->shown.query, s->rows, s->count, s->judged);
	}
	table_view_update(v, s->count, NULL);
	bool shown = !model_of_sessions(s->t.v.ui->shown.model) &&
		     (table_shows(table(s), term_columns(), C_AGE) ||
		      table_shows(table(s), term_columns(), C_OLDEST));
	if (ages_take(&s->ages, v->ui, true,
		      ages_wanted(shown, s->t.sort[table_view_diffing(&s->t)]), &s->t.list,
		      site_list_id, s) &&
	    resort)
		refresh(v, true);
}

/* Known of all threads together only. */
static bool of_all_threads(const struct site_list *s, size_t column)
{
	bool plain = !table_view_diffing(&s->t) && (column == C_RATE || column == C_ALLOC);

	return plain || column == C_CHURN || column == C_LIFE;
}

static void cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x, int w)
{
	struct site_list *s = arg;
	const struct site *r = &s->rows[row];
	const struct figures *f = &s->t.v.ui->shown.figures;
	struct cell c = { a, y, x, w, r->estimate };

	if (ui_of_threads(s->t.v.ui) && of_all_threads(s, column))
		return;
	if (column == C_SITE)
		cell_site(c, r);
	else if (column == C_AT && r->file) /* without a file, OWNER says it */
		cell_place(c, cells_letter(r->owner), r->file, r->line, NULL);
	else if (column == C_AT)
		return;
	else if (column == C_OWNER)
		cell_owner(c, cells_letter(r->owner), r->owner ? r->owner->name : "?");
	else if (column == C_AGE || column == C_OLDEST)
		cell_age(c, ages_at(&s->ages, row, r->id), column == C_OLDEST);
	else if (column == C_CHURN) {
		if (r->churn_known && !figures_over(f))
			cell_bytes(c, r->churn_bytes);
	} else if (column == C_LIFE)
		cell_life(c, r);
	else if (table_view_diffing(&s->t))
		switch (column) {
		case D_BORN: cell_bytes(c, r->change.born_bytes); break;
		case D_GONE: cell_bytes(c, r->change.gone_bytes); break;
		case D_NET: cell_net(c, net_bytes(&r->change)); break;
		case D_LIVE: cell_live(c, live_bytes(&r->sum)); break;
		}
	else
		switch (column) {
		case C_LIVE: cell_live(c, live_bytes(&r->sum)); break;
		case C_BLOCKS: cell_count(c, live_blocks(&r->sum)); break;
		case C_RATE:
			if (figures_rated(f))
				cell_rate(c, figures_over(f) ? 0 : r->calls);
			else
				cell_unknown(c);
			break;
		case C_ALLOC: cell_bytes(c, r->sum.alloc_bytes); break;
		}
}

static void session_cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x,
			 int w)
{
	const struct site_list *s = arg;
	const struct site *r = &s->rows[row];
	struct cell c = { a, y, x, w, r->estimate };

	switch (column) {
	case S_A: cell_bytes(c, live_bytes(&r->sum) - (uint64_t)net_bytes(&r->change)); break;
	case S_B: cell_bytes(c, live_bytes(&r->sum)); break;
	case S_NET: cell_net(c, net_bytes(&r->change)); break;
	case S_KIND: judgement_cell(c, &s->judged[row]); break;
	case S_BLOCKS: cell_count_net(c, net_blocks(&r->change)); break;
	case S_SITE: cell_site(c, r); break;
	case S_AT:
		if (r->file)
			cell_place(c, cells_letter(r->owner), r->file, r->line, NULL);
		break;
	case S_OWNER: cell_owner(c, cells_letter(r->owner), r->owner ? r->owner->name : "?"); break;
	}
}

bool site_list_dim(void *arg, size_t row)
{
	const struct site_list *s = arg;

	return s->rows[row].flags & (ROW_ZERO | ROW_EXPECTED) ||
	       (s->t.v.ui->compared && s->judged[row].noise);
}

bool site_list_match(struct view *v, size_t row, const char *text)
{
	const struct site *r = site_list_at((struct site_list *)v, row);

	return (r->name && strcasestr(r->name, text)) ||
	       (r->caller && strcasestr(r->caller, text)) ||
	       (r->function && strcasestr(r->function, text));
}

static const struct table tables[5] = {
	{ "Sites", plain_columns, sizeof plain_columns / sizeof plain_columns[0], cell,
	  site_list_dim, site_list_id, table_view_hit },
	{ "Sites", since_columns, sizeof since_columns / sizeof since_columns[0], cell,
	  site_list_dim, site_list_id, table_view_hit },
	{ "Sites", between_columns, sizeof between_columns / sizeof between_columns[0], cell,
	  site_list_dim, site_list_id, table_view_hit },
	{ "Sites", churn_columns, sizeof churn_columns / sizeof churn_columns[0], cell,
	  site_list_dim, site_list_id, table_view_hit },
	{ "Sites", session_columns, sizeof session_columns / sizeof session_columns[0],
	  session_cell, site_list_dim, site_list_id, table_view_hit },
};

static const struct table *table(const struct site_list *s)
{
	int by = s->t.sort[0];

	if (model_of_sessions(s->t.v.ui->shown.model))
		return &tables[4];
	if (!table_view_diffing(&s->t) && (by == BY_RATE || by == BY_CHURN || by == BY_LIFE))
		return &tables[3];
	return &tables[table_view_diffing(&s->t) + interval_between(s->t.v.ui->shown.model)];
}

static void draw(struct view *v, const struct area *a)
{
	struct site_list *s = (struct site_list *)v;

	table_view_draw_why(v, a);
	/* Hurries upwards, because the last one hurried comes first. */
	for (size_t i = s->t.list.top + (size_t)s->t.list.height; i-- > s->t.list.top;)
		if (i < s->count)
			query_hurry(v->ui->shown.query, site_list_at(s, i)->leaf, WRITTEN_NODES);
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	struct site_list *s = (struct site_list *)v;
	char interval[320], count[32], words[64];

	interval_name(v->ui->shown.model, brief, interval, sizeof interval);
	format_count(count, s->count);
	if (!table_view_diffing(&s->t))
		snprintf(out, size, "%s site%s%s", count, format_s(s->count),
			 ages_words(&s->ages, v->ui, words, sizeof words));
	else if (brief)
		snprintf(out, size, "%s", interval);
	else
		snprintf(out, size, "%s site%s  %s", count, format_s(s->count), interval);
}

bool view_sites_by_rate(const struct view *v)
{
	return ((const struct site_list *)v)->t.sort[0] == BY_RATE;
}

/* --- shared with the overview (views/sites.h) */

unsigned site_list_request(struct view *v, enum request r)
{
	struct ui *ui = v->ui;
	unsigned bits = table_view_request(v, r);

	if (bits != VIEW_IGNORED)
		return bits;
	const struct site *site = site_list_selected((struct site_list *)v);
	if (!site)
		return VIEW_IGNORED;
	switch (r) {
	case REQ_SITE_TREE: return ui->ops->show_node(ui, site->leaf);
	case REQ_SITE_DETAIL: return ui->ops->show_detail(ui, site->leaf, false, site->stacks);
	case REQ_EXPECT:
		/* The row sinks to the end, and the cursor with it: x again takes it back. */
		list_hold(&((struct site_list *)v)->t.list);
		return ui->ops->expect(ui, site);
	case REQ_SITE_ZOOM:
		if (!site->owner)
			return VIEW_DRAW;
		return ui->ops->show_owner(ui, site->owner->module, site->owner->name);
	default: return VIEW_IGNORED;
	}
}

const struct site *site_list_at(const struct site_list *s, size_t i)
{
	return &s->rows[i];
}

const struct site *site_list_selected(const struct site_list *s)
{
	return s->t.list.at < s->count ? site_list_at(s, s->t.list.at) : NULL;
}

bool site_list_row(struct view *v, struct view_row *out)
{
	const struct site *s = site_list_selected((struct site_list *)v);

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

void site_list_free(struct view *v)
{
	struct site_list *s = (struct site_list *)v;

	ages_release(&s->ages);
	free(s->judged);
	free(s);
}

/* Or by LIVE again; the largest first. */
static void by_calls(struct site_list *s)
{
	s->t.sort[0] = s->t.sort[0] == BY_RATE ? BY_LIVE : BY_RATE;
	s->t.reverse = false;
	if (s->t.sort[0] == BY_RATE && columns_hidden("Sites", "CALLS/s"))
		status_say("sorted by CALLS/s, a hidden column; c shows it");
}

/* Moves the sort to the next column that will be shown: the shown columns depend on the sort. */
static void sort_beside(struct site_list *s, int step)
{
	int *sort = &s->t.sort[table_view_diffing(&s->t)], was = *sort;

	for (int at = was, next; (next = table_sort_next(table(s), at, step)) != at; at = next) {
		*sort = next;
		if (table_shows_sort(table(s), next))
			return;
	}
	*sort = was;
}

static unsigned request(struct view *v, enum request r)
{
	struct site_list *s = (struct site_list *)v;

	switch (r) {
	case REQ_SORT_LEFT: sort_beside(s, -1); return VIEW_RESORT;
	case REQ_SORT_RIGHT: sort_beside(s, 1); return VIEW_RESORT;
	case REQ_CHURN:
		if (table_view_diffing(&s->t))
			status_error("a diff has no CALLS/s; d: diff off");
		else
			by_calls(s);
		return VIEW_RESORT;
	default: return site_list_request(v, r);
	}
}

static const struct table *columns_of(struct view *v)
{
	return table((struct site_list *)v);
}

static const struct view_ops ops = {
	.title = "Sites",
	.brief = "Sites",
	.table = columns_of,
	.sort = table_view_sort,
	.foci = view_keys,
	.keys = { FOCUS_SITES, FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.request = request,
	.caption = caption,
	.row = site_list_row,
	.matches = site_list_match,
	.search = site_list_search,
	.next_hit = table_view_next_hit,
	.free = site_list_free,
};

struct view *view_sites_new(struct ui *ui)
{
	struct site_list *s = xcalloc(1, sizeof *s);

	s->t.v = (struct view){ &ops, ui };
	s->t.sort[0] = BY_LIVE;
	s->t.sort[1] = BY_NET;
	return &s->t.v;
}
