/* SPDX-License-Identifier: MIT
 *
 * rows.c - draws the rows of the tree. With a base the columns are BORN, GONE, NET instead of LIVE.
 * Indentation takes at most a third of the name column.
 */
#include "views/tree/tree.h"

#include "widgets/cells.h"
#include "screen/term.h"

#include <string.h>

enum { C_LIVE, C_BLOCKS, C_SELF, C_RATE, C_NAME, C_AT, C_AGE, C_OLDEST };

#define NAME_LIKES 38 /* indentation takes a third of it: 25 for a chain of two names */

static const struct column plain_columns[] = {
	[C_LIVE] = { .title = "LIVE", .width = 8, .bytes = SIZE_HELD, .sort = BY_LIVE },
	[C_BLOCKS] = { .title = "BLOCKS", .width = 8, .wide = 10, .rank = 2, .sort = BY_BLOCKS },
	[C_SELF] = { .title = "SELF", .width = 8, .bytes = SIZE_HELD, .rank = 4, .sort = BY_SELF },
	[C_RATE] = { .title = "CALLS/s", .width = 8, .rank = 3, .sort = BY_RATE },
	[C_NAME] = { .title = "FUNCTION", .wide = NAME_LIKES, .left = true, .sort = BY_NAME },
	[C_AT] = { .title = "AT", .width = 17, .wide = 24, .rank = 1, .sort = -1, .left = true },
	[C_AGE] = { .title = "AGE", .width = 7, .rank = 5, .sort = BY_AGE },
	[C_OLDEST] = { .title = "OLDEST", .width = 7, .rank = 6, .sort = BY_OLDEST },
};

enum { D_BORN, D_GONE, D_NET, D_BLOCKS };

static const struct column diff_columns[] = {
	[D_BORN] = { .title = "BORN", .width = 8, .bytes = SIZE_HELD, .rank = 2, .sort = BY_BORN },
	[D_GONE] = { .title = "GONE", .width = 8, .bytes = SIZE_HELD, .rank = 2, .sort = BY_GONE },
	[D_NET] = { .title = "NET", .width = 9, .bytes = SIZE_HELD, .sort = BY_NET },
	[D_BLOCKS] = { .title = "BLOCKS", .width = 8, .rank = 3, .sort = -1 },
	[C_NAME] = { .title = "FUNCTION", .wide = NAME_LIKES, .left = true, .sort = BY_NAME },
	[C_AT] = { .title = "AT", .width = 17, .wide = 24, .rank = 1, .sort = -1, .left = true },
	[C_AGE] = { .title = "AGE", .width = 7, .rank = 5, .sort = BY_AGE },
	[C_OLDEST] = { .title = "OLDEST", .width = 7, .rank = 6, .sort = BY_OLDEST },
};

enum { S_A, S_B, S_NET, S_KIND, S_BLOCKS, S_NAME, S_AT };

static const struct column session_columns[] = {
	JUDGED_COLUMNS(3),
	[S_NAME] = { .title = "FUNCTION", .wide = NAME_LIKES, .left = true, .sort = BY_NAME },
	[S_AT] = { .title = "AT", .width = 17, .wide = 24, .rank = 2, .sort = -1, .left = true },
};

/* The part of a chain "a > b > c" that fits, in whole names. It ends with the most telling name,
 * before the allocation functions below it. An ellipsis marks the cut. */
static const char *chain_part(const struct row *r, int width, char *out, size_t size)
{
	const char *from = r->name, *to = r->name, *next, *dots = text_glyph(GLYPH_ELLIPSIS);

	if (text_width(r->name) <= width || !strstr(r->name, " > "))
		return r->name;
	for (uint32_t i = 1; i <= r->named && to; i++)
		to = strstr(i == 1 ? to : to + 3, " > ");
	const char *after = to ? " > " : "", *rest = to ? dots : "";
	if (!to)
		to = r->name + strlen(r->name);
	for (;; from = next + 3) {
		bool whole = from == r->name;
		snprintf(out, size, "%s%s%.*s%s%s", whole ? "" : dots, whole ? "" : " > ",
			 (int)(to - from), from, after, rest);
		next = strstr(from, " > ");
		if (text_width(out) <= width || !next || next >= to)
			return out;
	}
}

static void name_cell(const struct row *r, struct cell c)
{
	char tail[48] = "", deeper[24], chain[TEXT_MAX];
	int indent = (int)r->depth * 2, most = c.w / 3;
	enum role role = r->flags & ROW_HIT       ? ROLE_HIT
			 : r->flags & ROW_PENDING ? ROLE_DIM
						  : ROLE_NAME;

	if (indent > most) { /* no room: its depth as a number */
		snprintf(deeper, sizeof deeper, "%s%u", text_glyph(GLYPH_DEEPER), r->depth);
		draw_clip(c.a, c.y, c.x, most, ROLE_DIM, CLIP_END, deeper);
		indent = most > text_width(deeper) ? most : text_width(deeper) + 1;
	}
	c.x += indent;
	c.w -= indent;
	const char *sign = r->flags & (ROW_LEAF | ROW_REST)
				   ? " "
				   : text_glyph(r->flags & ROW_OPEN ? GLYPH_OPEN : GLYPH_CLOSED);
	draw_clip(c.a, c.y, c.x, c.w, ROLE_KEY, CLIP_END, sign);
	if (r->folded > 1)
		snprintf(tail, sizeof tail, " (%u)", r->folded);
	else if (r->paths > 1 && !(r->flags & (ROW_OPEN | ROW_REST)))
		snprintf(tail, sizeof tail, " (%u paths)", r->paths);
	if (r->flags & ROW_INLINED)
		strcat(tail, " inlined");
	int room = c.w - 2, wide = text_width(tail);
	if (wide > room / 2)
		tail[0] = 0, wide = 0;
	const char *name =
		r->folded > 1 ? chain_part(r, room - wide, chain, sizeof chain) : r->name;
	/* The chain of an inverted tree begins with its most important function. */
	enum clip how =
		(r->folded > 1 && name == r->name) || r->flags & ROW_REST ? CLIP_END : CLIP_MIDDLE;
	int used = draw_clip(c.a, c.y, c.x + 2, room - wide, role, how, name);
	draw_clip(c.a, c.y, c.x + 2 + used, wide, ROLE_DIM, CLIP_END, tail);
}

/* NULL: none, or it is not known. */
static const char *module_name(const struct row *r, const struct module *m)
{
	return m ? m->name : r->flags & ROW_GENERATED ? GENERATED_NAME : NULL;
}

static void place_cell(const struct tree *t, const struct row *r, struct cell c)
{
	const struct module *m =
		r->module == NO_ID ? NULL : model_module(t->tv.v.ui->shown.model, r->module);

	if (r->flags & ROW_REST)
		return;
	cell_place(c, cells_letter(r->owner), r->file, r->line, module_name(r, m));
}

/* Live in A: B's amount without what came since. */
static uint64_t live_before(const struct row *r)
{
	return live_bytes(&r->incl) - (uint64_t)net_bytes(&r->change);
}

static void session_cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x,
			 int w)
{
	struct tree *t = arg;
	const struct row *r = &t->rows[row];
	struct cell c = { a, y, x, w, r->estimate };

	switch (column) {
	case S_A: cell_bytes(c, live_before(r)); break;
	case S_B: cell_bytes(c, live_bytes(&r->incl)); break;
	case S_NET: cell_net(c, net_bytes(&r->change)); break;
	case S_KIND: judgement_cell(c, &t->judged[row]); break;
	case S_BLOCKS: cell_count_net(c, net_blocks(&r->change)); break;
	case S_NAME: name_cell(r, c); break;
	case S_AT: place_cell(t, r, c); break;
	}
}

static void cell(void *arg, size_t row, size_t column, const struct area *a, int y, int x, int w)
{
	struct tree *t = arg;
	const struct row *r = &t->rows[row];
	const struct figures *f = &t->tv.v.ui->shown.figures;
	struct cell c = { a, y, x, w, r->estimate };

	if (column == C_NAME) {
		name_cell(r, c);
	} else if (column == C_AT) {
		place_cell(t, r, c);
	} else if (column == C_AGE || column == C_OLDEST) {
		cell_age(c, ages_at(&t->ages, row, r->id), column == C_OLDEST);
	} else if (table_view_diffing(&t->tv)) {
		switch (column) {
		case D_BORN: cell_bytes(c, r->change.born_bytes); break;
		case D_GONE: cell_bytes(c, r->change.gone_bytes); break;
		case D_NET: cell_net(c, net_bytes(&r->change)); break;
		case D_BLOCKS: cell_count_net(c, net_blocks(&r->change)); break;
		}
	} else {
		switch (column) {
		case C_LIVE: cell_live(c, live_bytes(&r->incl)); break;
		case C_BLOCKS: cell_count(c, live_blocks(&r->incl)); break;
		case C_SELF:
			c.estimate = r->self_estimate;
			cell_live(c, live_bytes(&r->self));
			break;
		case C_RATE:
			if (ui_of_threads(t->tv.v.ui)) /* rates count all threads */
				break;
			if (figures_rated(f))
				cell_rate(c, figures_over(f) ? 0 : r->calls);
			else
				cell_unknown(c);
			break;
		}
	}
}

static bool dim(void *arg, size_t row)
{
	const struct tree *t = arg;

	return t->rows[row].flags & ROW_ZERO || (t->tv.v.ui->compared && t->judged[row].noise);
}

/* Ages count blocks alive now, so they do not fit an interval between two marks. */
#define WITHOUT_AGES C_AGE

static bool is_hit(void *arg, size_t row)
{
	return ((const struct tree *)arg)->rows[row].flags & ROW_HIT;
}

static const struct table tables[4] = {
	{ "Tree", plain_columns, sizeof plain_columns / sizeof plain_columns[0], cell, dim, tree_id,
	  is_hit },
	{ "Tree", diff_columns, sizeof diff_columns / sizeof diff_columns[0], cell, dim, tree_id,
	  is_hit },
	{ "Tree", diff_columns, WITHOUT_AGES, cell, dim, tree_id, is_hit },
	{ "Tree", session_columns, sizeof session_columns / sizeof session_columns[0], session_cell,
	  dim, tree_id, is_hit },
};

const struct table *tree_table(const struct tree *t)
{
	if (model_of_sessions(t->tv.v.ui->shown.model))
		return &tables[3];
	return &tables[table_view_diffing(&t->tv) + interval_between(t->tv.v.ui->shown.model)];
}

enum ages_of tree_ages(const struct tree *t)
{
	const struct table *table = tree_table(t);

	if (model_of_sessions(t->tv.v.ui->shown.model) || table->count <= WITHOUT_AGES)
		return AGES_OF_NONE;
	return ages_wanted(table_shows(table, term_columns(), C_AGE) ||
				   table_shows(table, term_columns(), C_OLDEST),
			   t->tv.sort[table_view_diffing(&t->tv)]);
}

static void draw_place(const struct row *r, const struct module *m, const struct area *a, int y)
{
	if (r->file && r->line)
		draw_printf(a, y, 1, ROLE_PLACE, "%.400s:%u", r->file, r->line);
	else if (r->file)
		draw_printf(a, y, 1, ROLE_PLACE, "%.400s", r->file);
	else if (m && m->path)
		draw_printf(a, y, 1, ROLE_PLACE, "%.400s%s", m->path,
			    r->flags & ROW_PENDING ? "  (resolving names)"
						   : "  (no line information)");
}

static bool noise_judged(const struct tree *t)
{
	const struct diff_tree *d = t->tv.v.ui->compared;

	return d && d->d->judged;
}

int tree_panel_height(const struct tree *t)
{
	return 3 + noise_judged(t);
}

/* Below, where its code is. */
static void draw_sessions(const struct tree *t, const struct row *r, const struct module *m,
			  const struct area *a)
{
	char words[200];
	char one[32], two[TEXT_BLOCKS], three[32];
	uint64_t blocks = live_blocks(&r->incl);
	const char *about = r->estimate ? "~" : "";

	draw_printf(a, 1, 1, ROLE_NORMAL, "A: %s%s in %s%s.  B: %s%s in %s%s.  NET %s%s.", about,
		    text_bytes(one, live_before(r)), about,
		    text_blocks(two, blocks - (uint64_t)net_blocks(&r->change)), about,
		    text_bytes((char[32]){ 0 }, live_bytes(&r->incl)), about,
		    format_count((char[32]){ 0 }, blocks), about,
		    text_bytes_signed(three, net_bytes(&r->change)));
	if (noise_judged(t)) {
		judgement_words(t->tv.v.ui->compared->d, &t->judged[t->tv.list.at], words,
				sizeof words);
		draw_text(a, 2, 1, ROLE_NORMAL, words);
	}
	draw_place(r, m, a, 2 + noise_judged(t));
}

/* Describes the selected row. */
void tree_panel(const struct tree *t, const struct area *a)
{
	const struct row *r = tree_selected(t);
	const struct module *m =
		r->module == NO_ID ? NULL : model_module(t->tv.v.ui->shown.model, r->module);
	char title[700], one[TEXT_BLOCKS], two[TEXT_BLOCKS], three[32];
	uint64_t blocks = live_blocks(&r->incl), bytes = live_bytes(&r->incl);
	const char *about = r->estimate ? "~" : "";
	const struct figures *f = &t->tv.v.ui->shown.figures;
	char calls[32] = "-";

	if (figures_rated(f))
		text_short(calls, figures_over(f) ? 0 : r->calls);
	const char *module = module_name(r, m), *what = r->function ? r->function : r->name;
	snprintf(title, sizeof title, "%.300s  %.200s", what,
		 module && strcmp(module, what) ? module : "");
	draw_rule(a, 0, ROLE_BORDER, title);
	if (model_of_sessions(t->tv.v.ui->shown.model)) {
		draw_sessions(t, r, m, a);
		return;
	}
	draw_printf(a, 1, 1, ROLE_NORMAL,
		    "%s%s%s live in %s%s%s%s.  Now %s%s calls/s, %s%s in all%s.",
		    interval_between(t->tv.v.ui->shown.model) ? "Now " : "", about,
		    text_bytes(one, bytes), about, text_blocks(two, blocks),
		    blocks ? ", mean " : "", blocks ? text_bytes(three, bytes / blocks) : "", about,
		    calls, about, text_bytes((char[32]){ 0 }, r->incl.alloc_bytes),
		    ui_of_threads(t->tv.v.ui) ? ", by all threads" : "");
	if (table_view_diffing(&t->tv)) {
		char interval[320];
		interval_name(t->tv.v.ui->shown.model, false, interval, sizeof interval);
		draw_printf(
			a, 2, 1, ROLE_NORMAL, "%s: %s%s born and alive%s, %s%s older one%s freed.",
			interval, about, text_blocks(one, r->change.born_blocks),
			interval_between(t->tv.v.ui->shown.model) ? " at its end" : "", about,
			format_count(two, r->change.gone_blocks), format_s(r->change.gone_blocks));
	} else {
		draw_place(r, m, a, 2);
	}
}
