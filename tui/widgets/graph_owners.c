/* SPDX-License-Identifier: MIT
 *
 * graph_owners.c - live bytes by owner as stacked bands. Their cells carry the owner's letter,
 * which tells them apart without colour.
 */
#include "widgets/graph_part.h"

#include "widgets/cells.h"
#include "query/query.h"

#include <string.h>

#define LEGEND_MIN 18
#define LEGEND_MAX 44
#define LEGEND_DELTA 30 /* from this width on the change over the window is shown too */

struct bands {
	size_t shown; /* owners with a band of their own; the rest is one more */
	int64_t start[FIGURES_OWNERS + 1]; /* live at the window's start */
	bool start_known;                  /* ... of whom it was */
	size_t at;                         /* point that the cursor is at; SIZE_MAX = now */
	bool arrived;                      /* all figures are of that instant */
	int column;                        /* ... and its column; -1 = none */
};

static uint64_t others_at(const struct figures *f, size_t shown, size_t point)
{
	uint64_t sum = 0, live = f->points[point].live_bytes;

	for (size_t i = 0; i < shown; i++)
		sum += figures_owner_at(f, i, point);
	return live > sum ? live - sum : 0;
}

/* Of an owner, or of the others: now, or where the cursor is. */
static uint64_t live_then(const struct figures *f, const struct bands *b, size_t owner)
{
	uint64_t sum = 0, whole = live_bytes(&f->totals.sum);

	if (b->at != SIZE_MAX && !b->arrived)
		return owner < b->shown ? figures_owner_at(f, owner, b->at)
					: others_at(f, b->shown, b->at);
	if (owner < b->shown)
		return live_bytes(&f->owners[owner].amounts.sum);
	for (size_t k = 0; k < b->shown; k++)
		sum += live_bytes(&f->owners[k].amounts.sum);
	return whole > sum ? whole - sum : 0;
}

static void draw_legend(const struct area *a, const struct figures *f, const struct bands *b,
			int y_low)
{
	size_t rows = b->shown + (f->owner_total > b->shown), grows = SIZE_MAX;
	int64_t most = 0;

	bool known = b->at == SIZE_MAX || f->known[b->at], both = known && b->start_known;

	for (size_t i = 0; both && i < b->shown; i++) {
		int64_t d = (int64_t)live_then(f, b, i) - b->start[i];
		if (d > most) {
			most = d;
			grows = i;
		}
	}
	for (size_t i = 0; i < rows; i++) {
		int y = y_low - (int)i;
		char name[64];
		bool rest = i == b->shown,
		     estimate = rest ? f->rest_estimate : f->owners[i].amounts.sampled != 0;
		uint64_t now = live_then(f, b, i);
		char letter = rest ? '.' : f->owners[i].letter;
		if (rest) {
			for (size_t k = b->shown; k < f->owner_count; k++)
				estimate |= f->owners[k].amounts.sampled != 0;
			snprintf(name, sizeof name, "%zu others", f->owner_total - b->shown);
		} else {
			snprintf(name, sizeof name, "%s", f->owners[i].name);
		}
		char sign[2] = { letter, 0 };
		draw_text(a, y, 0, draw_owner_role(letter), rest ? text_glyph(GLYPH_DOT) : sign);
		/* 2: the letter and a space; 1: the arrow. */
		int room = a->w - 2 - 1, wider = cells_wider(KIND_BYTES);
		if (a->w >= LEGEND_DELTA + 2 * wider) {
			int64_t d = (int64_t)now - b->start[i];
			room -= 9 + wider;
			if (both)
				cell_number((struct cell){ a, y, 2 + room, 8 + wider, estimate },
					    KIND_NET, d, false);
		}
		room -= 8 + wider;
		if (known)
			cell_number((struct cell){ a, y, 2 + room, 7 + wider, estimate },
				    KIND_BYTES, (int64_t)now, false);
		char *version = strstr(name, ".so.");
		if (version && text_width(name) > room - 1) /* cut before the name's middle */
			version[3] = 0;
		draw_clip(a, y, 2, room - 1, ROLE_NAME, CLIP_MIDDLE, name);
		if (i == grows)
			draw_text(a, y, a->w - 1, ROLE_BAD, text_glyph(GLYPH_GROWS));
	}
}

/* The band at a height (in bytes) of a point: owner index, shown = others, -1 = above. */
static int band_at(const struct figures *f, const struct bands *b, size_t point, double bytes)
{
	double sum = 0;

	for (size_t i = 0; i < b->shown; i++) {
		sum += (double)figures_owner_at(f, i, point);
		if (bytes < sum)
			return (int)i;
	}
	return bytes < (double)f->points[point].live_bytes ? (int)b->shown : -1;
}

static void draw_bands(const struct area *a, const struct figures *f, const struct bands *b,
		       uint64_t window, double most)
{
	uint64_t left, right;

	for (int x = 0; x < a->w; x++) {
		size_t p = graph_column_time(f, window, x, a->w, &left, &right)
				   ? figures_point_at(f, right)
				   : SIZE_MAX;
		draw_overlay(x == b->column ? ROLE_SELECTED : -1);
		for (int row = 0; x == b->column && row < a->h; row++)
			draw_text(a, row, x, ROLE_MARK, "|");
		if (p == SIZE_MAX)
			continue;
		for (int row = 0; row < a->h; row++) {
			int band = band_at(f, b, p, (row + 0.5) * most / a->h);
			if (band < 0)
				break;
			bool rest = band == (int)b->shown;
			char letter[2] = { rest ? '.' : f->owners[band].letter, 0 };
			if (!f->known[p])
				draw_text(a, a->h - 1 - row, x, ROLE_DIM,
					  text_glyph(GLYPH_UNKNOWN));
			else if (rest)
				draw_text(a, a->h - 1 - row, x, ROLE_DIM, text_glyph(GLYPH_DOT));
			else if (theme_has_colour())
				draw_band(a, a->h - 1 - row, x, draw_owner_role(*letter), letter);
			else
				draw_text(a, a->h - 1 - row, x, draw_owner_role(*letter), letter);
		}
	}
	draw_overlay(-1);
}

void graph_owners(const struct area *a, const struct figures *f, const struct graph_time *t)
{
	uint64_t window = graph_window(f, t), peak = 1;
	uint64_t start = f->time_ns > window ? f->time_ns - window : 0;
	size_t first = graph_window_start(f, t);
	int most_w = LEGEND_MAX + 2 * cells_wider(KIND_BYTES),
	    side_w = a->w * 9 / 20 < most_w ? a->w * 9 / 20 : most_w;
	bool legend = side_w >= LEGEND_MIN;
	struct bands b = { 0 };
	char number[32];

	for (size_t i = first == SIZE_MAX ? 0 : first; i < f->point_count; i++)
		peak = f->points[i].live_bytes > peak ? f->points[i].live_bytes : peak;
	double most = graph_round_up((double)peak, 1024);
	int plot_h = a->h - 1, rows = plot_h < 1 ? 0 : plot_h;
	b.shown = f->owner_count <= (size_t)rows ? f->owner_count : rows > 1 ? (size_t)rows - 1 : 0;
	for (size_t i = 0; first != SIZE_MAX && i < b.shown; i++)
		b.start[i] = (int64_t)figures_owner_at(f, i, first);
	if (first != SIZE_MAX)
		b.start[b.shown] = (int64_t)others_at(f, b.shown, first);
	b.start_known = graph_start_known(f, first);
	b.at = graph_instant(f, t);
	struct area plot = area_sub(a, 0, GRAPH_SCALE_WIDTH, plot_h,
				    a->w - GRAPH_SCALE_WIDTH - (legend ? side_w + 1 : 0));
	b.arrived = figures_arrived(f, t->at_ns);
	b.column = b.at == SIZE_MAX    ? -1
		   : t->at_ns <= start ? 0
				       : graph_column_of(f, t->at_ns, plot.w, window);
	b.column = b.at != SIZE_MAX && b.column < 0 ? 0 : b.column;
	draw_bands(&plot, f, &b, window, most);
	/* Short numbers, whatever units the user chose. */
	draw_right(a, 0, 0, GRAPH_SCALE_WIDTH - 1, ROLE_DIM, format_bytes(number, (uint64_t)most));
	if (plot_h > 4)
		draw_right(a, plot_h / 2, 0, GRAPH_SCALE_WIDTH - 1, ROLE_DIM,
			   format_bytes(number, (uint64_t)(most / 2)));
	draw_right(a, plot_h - 1, 0, GRAPH_SCALE_WIDTH - 1, ROLE_DIM, "0");
	graph_axis(a, plot_h, GRAPH_SCALE_WIDTH, plot.w, f, t, true);
	if (legend) {
		struct area side = area_sub(a, 0, a->w - side_w, plot_h, side_w);
		draw_legend(&side, f, &b, plot_h - 1);
	}
}
