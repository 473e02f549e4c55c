/* SPDX-License-Identifier: MIT
 *
 * sites.c - what allocates, flat: one row per allocating function or line.
 */
#include "app/app.h"
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
	[C_OWNER] = { .title = "OWNER", .width = 14, .wide = 22, .rank = 1, .sort = -1,            \
	  .left = true }

/* What is called most often is looked at for how long it lives, the rest for how old it is. */
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

static bool diffing(const struct sites *s)
{
	return action_diffing(s->v.app);
}

static uint64_t id_of(void *arg, size_t i)
{
	return ((struct sites *)arg)->rows[i].id;
}

static const struct table *table(const struct sites *s);

static void refresh(struct view *v, bool resort)
{
	struct sites *s = (struct sites *)v;

	s->count = query_sites(v->app->query, (enum query_column)s->sort[diffing(s)], s->reverse,
			       resort, &s->rows);
	list_update(&s->list, s->count, id_of, NULL, s);
	bool shown = table_shows(table(s), term_columns(), C_AGE) ||
		     table_shows(table(s), term_columns(), C_OLDEST);
	if (ages_take(&s->ages, v->app, true, ages_wanted(shown, s->sort[diffing(s)]), &s->list,
		      id_of, s) &&
	    resort)
		refresh(v, true);
}

/* Known of all threads together only. */
static bool of_all_threads(const struct sites *s, size_t column)
{
	bool plain = !diffing(s) && (column == C_RATE || column == C_ALLOC);

	return plain || column == C_CHURN || column == C_LIFE;
}

static void cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x, int w)
{
	struct sites *s = arg;
	const struct site *r = &s->rows[row];
	struct cell c = { a, y, x, w, r->estimate };

	if (filter_of_threads(s->v.app) && of_all_threads(s, column))
		return;
	if (column == C_SITE)
		cell_site(c, r);
	else if (column == C_AT && r->file) /* else the owner says all */
		cell_place(c, cells_letter(r->owner), r->file, r->line, NULL);
	else if (column == C_AT)
		return;
	else if (column == C_OWNER)
		cell_owner(c, cells_letter(r->owner), r->owner ? r->owner->name : "?");
	else if (column == C_AGE || column == C_OLDEST)
		cell_age(c, ages_at(&s->ages, row, r->id), column == C_OLDEST);
	else if (column == C_CHURN) {
		if (r->churn_known && !figures_over(&s->v.app->figures))
			cell_bytes(c, r->churn_bytes);
	} else if (column == C_LIFE)
		cell_life(c, r);
	else if (diffing(s))
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
			cell_rate(c, figures_over(&s->v.app->figures) ? 0 : r->rate_blocks);
			break;
		case C_ALLOC: cell_bytes(c, r->sum.alloc_bytes); break;
		}
}

static bool dim(void *arg, size_t row)
{
	const struct sites *s = arg;

	return (s->rows[row].flags & (ROW_ZERO | ROW_EXPECTED)) != 0;
}

static bool matches(const struct site *r, const char *text)
{
	return *text && ((r->name && strcasestr(r->name, text)) ||
			 (r->caller && strcasestr(r->caller, text)) ||
			 (r->function && strcasestr(r->function, text)));
}

bool sites_hit(void *arg, size_t row)
{
	const struct sites *s = arg;

	return matches(sites_at(s, row), s->v.app->find.text);
}

static const struct table tables[4] = {
	{ "Sites", plain_columns, sizeof plain_columns / sizeof plain_columns[0], cell, dim, id_of,
	  sites_hit },
	{ "Sites", since_columns, sizeof since_columns / sizeof since_columns[0], cell, dim, id_of,
	  sites_hit },
	{ "Sites", between_columns, sizeof between_columns / sizeof between_columns[0], cell, dim,
	  id_of, sites_hit },
	{ "Sites", churn_columns, sizeof churn_columns / sizeof churn_columns[0], cell, dim, id_of,
	  sites_hit },
};

static const struct table *table(const struct sites *s)
{
	int by = s->sort[0];

	if (!diffing(s) && (by == BY_RATE || by == BY_CHURN || by == BY_LIFE))
		return &tables[3];
	return &tables[diffing(s) + action_between(s->v.app)];
}

static void draw(struct view *v, const struct area *a)
{
	struct sites *s = (struct sites *)v;

	table_draw(table(s), a, &s->list, s, s->sort[diffing(s)], s->reverse, true);
	/* the uppermost come first */
	for (size_t i = s->list.top + (size_t)s->list.height; i-- > s->list.top;)
		if (i < s->count)
			query_hurry(v->app->query, sites_at(s, i)->leaf, WRITTEN_NODES);
	if (!s->count)
		draw_words(a, 2, 3, ROLE_WARNING, frame_empty_reason(v->app));
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	struct sites *s = (struct sites *)v;
	char interval[320], count[32], words[64];

	action_interval_name(v->app, brief, interval, sizeof interval);
	text_count(count, s->count);
	if (!diffing(s))
		snprintf(out, size, "%s site%s%s", count, s->count == 1 ? "" : "s",
			 ages_words(&s->ages, v->app, words, sizeof words));
	else if (brief)
		snprintf(out, size, "%s", interval);
	else
		snprintf(out, size, "%s site%s  %s", count, s->count == 1 ? "" : "s", interval);
}

bool view_sites_by_rate(const struct view *v)
{
	return ((const struct sites *)v)->sort[0] == BY_RATE;
}

/* --- shared with the overview (views/sites.h) */

unsigned sites_request(struct sites *s, enum request r, list_id_fn *id)
{
	struct app *a = s->v.app;

	if (list_request(&s->list, r, id, s))
		return VIEW_DRAW;
	const struct site *site = sites_selected(s);
	if (!site)
		return VIEW_IGNORED;
	switch (r) {
	case REQ_SITE_TREE: return action_show_node(a, site->leaf);
	case REQ_SITE_DETAIL:
		app_open_page(a, view_detail_new(a, site->leaf, false, site->stacks));
		return VIEW_DRAW;
	case REQ_EXPECT: return action_expect(a, site);
	case REQ_SITE_ZOOM:
		if (!site->owner)
			return VIEW_DRAW;
		app_show(a, VIEW_TREE);
		view_tree_zoom_owner(a->views[VIEW_TREE], site->owner->module, site->owner->name);
		return VIEW_DRAW;
	default: return VIEW_IGNORED;
	}
}

const struct site *sites_at(const struct sites *s, size_t i)
{
	return &s->rows[i];
}

const struct site *sites_selected(const struct sites *s)
{
	return s->list.at < s->count ? sites_at(s, s->list.at) : NULL;
}

bool sites_row(struct view *v, struct view_row *out)
{
	const struct site *s = sites_selected((struct sites *)v);

	if (s)
		*out = (struct view_row){ s->leaf, s->file, s->line };
	return s != NULL;
}

long sites_search(struct view *v, const char *text, size_t *pending)
{
	struct sites *s = (struct sites *)v;
	long hits = 0;

	*pending = 0;
	for (size_t i = 0; i < s->count; i++) {
		hits += matches(&s->rows[i], text);
		*pending += (s->rows[i].flags & ROW_PENDING) != 0;
	}
	return hits;
}

unsigned sites_next_hit(struct view *v, bool backwards)
{
	struct sites *s = (struct sites *)v;

	list_next(&s->list, backwards, sites_hit, s->id, s);
	return VIEW_DRAW;
}

/* Or by LIVE again; the largest first. */
static void by_calls(struct sites *s)
{
	s->sort[0] = s->sort[0] == BY_RATE ? BY_LIVE : BY_RATE;
	s->reverse = false;
	if (s->sort[0] == BY_RATE && columns_hidden("Sites", "CALLS/s"))
		status_say("sorted by CALLS/s, a hidden column; c shows it");
}

/* To the next column that is on the screen once it is what rows are sorted by: columns change with
 * that. */
static void sort_beside(struct sites *s, int step)
{
	int *sort = &s->sort[diffing(s)], was = *sort;

	for (int at = was, next; (next = table_sort_next(table(s), at, step)) != at; at = next) {
		*sort = next;
		if (table_shows_sort(table(s), next))
			return;
	}
	*sort = was;
}

static unsigned request(struct view *v, enum request r)
{
	struct sites *s = (struct sites *)v;

	switch (r) {
	case REQ_SORT_LEFT: sort_beside(s, -1); return VIEW_RESORT;
	case REQ_SORT_RIGHT: sort_beside(s, 1); return VIEW_RESORT;
	case REQ_CHURN:
		if (diffing(s))
			status_error("a diff has no CALLS/s; d: diff off");
		else
			by_calls(s);
		return VIEW_RESORT;
	case REQ_REVERSE: s->reverse = !s->reverse; return VIEW_RESORT;
	default: return sites_request(s, r, id_of);
	}
}

static int *sort_of(struct view *v)
{
	struct sites *s = (struct sites *)v;

	return &s->sort[diffing(s)];
}

static const enum focus *foci(struct view *v)
{
	static const enum focus list[] = { FOCUS_SITES, FOCUS_LIST, FOCUS_NONE };

	(void)v;
	return list;
}

static void view_free(struct view *v)
{
	ages_release(&((struct sites *)v)->ages);
	free(v);
}

static const struct table *columns_of(struct view *v)
{
	return table((struct sites *)v);
}

static const struct view_ops ops = {
	.title = "Sites",
	.brief = "Sites",
	.table = columns_of,
	.sort = sort_of,
	.foci = foci,
	.refresh = refresh,
	.draw = draw,
	.request = request,
	.caption = caption,
	.row = sites_row,
	.search = sites_search,
	.next_hit = sites_next_hit,
	.free = view_free,
};

struct view *view_sites_new(struct app *a)
{
	struct sites *s = xcalloc(1, sizeof *s);

	s->v = (struct view){ &ops, a };
	s->sort[0] = BY_LIVE;
	s->sort[1] = BY_NET;
	s->id = id_of;
	return &s->v;
}
