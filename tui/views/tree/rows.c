/* SPDX-License-Identifier: MIT
 *
 * rows.c - draws the rows of the tree. With a base the columns are BORN, GONE, NET instead of LIVE.
 * Indentation takes at most a third of the name column.
 */
#include "views/tree/tree.h"

#include "views/amounts.h"
#include "screen/term.h"

#include <string.h>

#define NAME_LIKES 38 /* indentation takes a third of it: 25 for a chain of two names */

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

static void name_cell(const struct line *l, struct cell c)
{
	const struct row *r = l->row;
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
	struct cell at = { c.a, c.y, c.x + 2, room, false };
	/* The chain of an inverted tree begins with its most important function. */
	if ((r->folded > 1 && name == r->name) || r->flags & ROW_REST) {
		int used = draw_clip(c.a, c.y, c.x + 2, room - wide, role, CLIP_END, name);
		draw_clip(c.a, c.y, c.x + 2 + used, wide, ROLE_DIM, CLIP_END, tail);
	} else {
		cell_name(at, &(struct cell_name){ .name = name,
						   .full = r->function,
						   .other = r->folded > 1,
						   .role = role,
						   .tail = tail });
	}
}

/* NULL: none, or it is not known. */
static const char *module_name(const struct row *r, const struct module *m)
{
	return m ? m->name : r->flags & ROW_GENERATED ? GENERATED_NAME : NULL;
}

static void at_cell(const struct line *l, struct cell c)
{
	const struct model *model = ((const struct view *)l->view)->ui->shown.model;
	const struct row *r = l->row;
	const struct module *m = r->module == NO_ID ? NULL : model_module(model, r->module);

	if (!(r->flags & ROW_REST))
		cell_source_line(c, cells_letter(r->owner), r->file, r->line, module_name(r, m));
}

static struct value self(const struct line *l)
{
	const struct row *r = l->row;

	return (struct value){ .n = (int64_t)live_bytes(&r->self), .estimate = r->self_estimate };
}

static COLUMN(self, "SELF", 8, BY_SELF, KIND_LIVE, .value = self);
static COLUMN(name, "FUNCTION", 0, BY_NAME, KIND_OWN, .wide = NAME_LIKES, .own = name_cell);
static COLUMN(at, "AT", 17, -1, KIND_OWN, .wide = 24, .own = at_cell);

static const struct table_column plain[] = {
	SHOW(live), SHOW(blocks, 2), SHOW(self, 4), SHOW(calls, 3),
	SHOW(name), SHOW(at, 1),     SHOW(age, 5),  SHOW(oldest, 6),
};
/* Ages count blocks alive now, so they do not fit an interval between two marks. */
#define BETWEEN                                                                                    \
	SHOW(born, 2), SHOW(gone, 2), SHOW(net), SHOW(net_blocks, 3), SHOW(name), SHOW(at, 1)
static const struct table_column between[] = { BETWEEN };
static const struct table_column since[] = { BETWEEN, SHOW(age, 5), SHOW(oldest, 6) };
/* Of all processes. */
static const struct table_column all_plain[] = {
	SHOW(live),     SHOW(blocks, 2), SHOW(procs, 1), SHOW(self, 4),
	SHOW(calls, 3), SHOW(name),      SHOW(at, 1),
};
static const struct table_column all_since[] = { BETWEEN, SHOW(procs, 2) };
static const struct table_column of_sessions[] = { COMPARED_COLUMNS(3), SHOW(name), SHOW(at, 2) };

static bool dim(void *arg, size_t row)
{
	const struct tree *t = arg;

	return t->rows[row].flags & ROW_ZERO || (t->tv.v.ui->compared && t->tv.judged[row].noise);
}

static bool is_hit(void *arg, size_t row)
{
	return ((const struct tree *)arg)->rows[row].flags & ROW_HIT;
}

#define TREE(columns) TABLE(VIEW_TREE, columns, struct row, dim, tree_id, is_hit)
const struct table tree_tables[] = { TREE(plain),       TREE(since),     TREE(between),
				     TREE(of_sessions), TREE(all_plain), TREE(all_since) };
enum { TREE_ALL_PLAIN = TABLE_SESSIONS + 1, TREE_ALL_SINCE };

size_t tree_shows(const struct view *v)
{
	size_t of_interval = table_view_shows(v);

	if (!procs_known(v->ui))
		return of_interval;
	return of_interval == TABLE_PLAIN   ? TREE_ALL_PLAIN
	       : of_interval == TABLE_SINCE ? TREE_ALL_SINCE
					    : of_interval;
}

enum ages_of tree_ages(const struct tree *t)
{
	const struct model *m = t->tv.v.ui->shown.model;
	const struct table *table = view_table(&t->tv.v);

	if (model_of_sessions(m) || interval_between(m))
		return AGES_OF_NONE;
	return ages_wanted(table_shows(table, term_columns(), &column_age) ||
				   table_shows(table, term_columns(), &column_oldest),
			   t->tv.sort[table_view_diffing(&t->tv)]);
}

static void draw_source_line(const struct row *r, const struct module *m, const struct area *a,
			     int y)
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
	uint64_t blocks = live_blocks(&r->amounts.sum);
	const char *about = r->amounts.sampled ? "~" : "";

	draw_printf(a, 1, 1, ROLE_NORMAL, "A: %s%s in %s%s.  B: %s%s in %s%s.  NET %s%s.", about,
		    text_bytes(one, bytes_before(&r->amounts)), about,
		    text_blocks(two, blocks - (uint64_t)net_blocks(&r->amounts.change)), about,
		    text_bytes((char[32]){ 0 }, live_bytes(&r->amounts.sum)), about,
		    format_count((char[32]){ 0 }, blocks), about,
		    text_bytes_signed(three, net_bytes(&r->amounts.change)));
	if (noise_judged(t)) {
		judgement_words(t->tv.v.ui->compared->d, &t->tv.judged[t->tv.list.at], words,
				sizeof words);
		draw_text(a, 2, 1, ROLE_NORMAL, words);
	}
	draw_source_line(r, m, a, 2 + noise_judged(t));
}

/* Describes the selected row. */
void tree_panel(const struct tree *t, const struct area *a)
{
	const struct row *r = tree_selected(t);
	const struct module *m =
		r->module == NO_ID ? NULL : model_module(t->tv.v.ui->shown.model, r->module);
	char title[700], one[TEXT_BLOCKS], two[TEXT_BLOCKS], three[32];
	uint64_t blocks = live_blocks(&r->amounts.sum), bytes = live_bytes(&r->amounts.sum);
	const char *about = r->amounts.sampled ? "~" : "";
	const struct figures *f = &t->tv.v.ui->shown.figures;
	char calls[32] = "-";

	if (figures_rated(f))
		text_short(calls, figures_over(f) ? 0
						  : model_per_second(t->tv.v.ui->shown.model,
								     r->amounts.rate.blocks));
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
		    calls, about, text_bytes((char[32]){ 0 }, r->amounts.sum.alloc_bytes),
		    ui_of_threads(t->tv.v.ui) ? ", by all threads" : "");
	if (table_view_diffing(&t->tv)) {
		char interval[320];
		interval_name(t->tv.v.ui->shown.model, false, interval, sizeof interval);
		draw_printf(a, 2, 1, ROLE_NORMAL,
			    "%s: %s%s born and alive%s, %s%s older one%s freed.", interval, about,
			    text_blocks(one, r->amounts.change.born_blocks),
			    interval_between(t->tv.v.ui->shown.model) ? " at its end" : "", about,
			    format_count(two, r->amounts.change.gone_blocks),
			    format_s(r->amounts.change.gone_blocks));
	} else {
		draw_source_line(r, m, a, 2);
	}
}
