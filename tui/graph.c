/* SPDX-License-Identifier: MIT
 *
 * graph.c - see graph.h. In UTF-8 a filled curve has four steps a row and two columns a cell
 * (braille); in ASCII one column a cell and three steps. The bands of the owner graph are cells
 * that carry their owner's letter in both, so that they can be told apart without colour.
 */
#include "graph.h"

#include "cells.h"
#include "query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define COLUMNS_MAX 512
#define LEGEND_MIN 18
#define LEGEND_MAX 44
#define LEGEND_DELTA 30 /* from this width on the change over the window is shown too */
#define SCALE_WIDTH 7
#define CURSOR_STEPS 60 /* of the cursor through the window */

static const uint64_t windows[] = { 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800, 2592000 };
#define WINDOWS (sizeof windows / sizeof windows[0])

uint64_t graph_window(const struct figures *f, const struct graph_time *t)
{
	if (t->window_ns)
		return t->window_ns;
	for (size_t i = 1; i < WINDOWS; i++)
		if (windows[i] >= 600 || windows[i] * SECOND >= f->time_ns)
			return windows[i] * SECOND;
	return 600 * SECOND;
}

/* The next longer (step 1) or shorter (-1) window; the longest is the first that holds the whole session. */
static uint64_t zoom(const struct figures *f, const struct graph_time *t, int step)
{
	uint64_t now = graph_window(f, t) / SECOND;
	size_t at = 0;

	while (at + 1 < WINDOWS && windows[at] < now)
		at++;
	if (step > 0 && at + 1 < WINDOWS && (windows[at] < f->time_ns / SECOND || windows[at] < 60))
		at++;
	if (step < 0 && at > 0)
		at--;
	return windows[at] * SECOND;
}

static void move_cursor(const struct figures *f, struct graph_time *t, int steps)
{
	uint64_t window = graph_window(f, t), step = window / CURSOR_STEPS;
	int64_t first = f->time_ns > window ? (int64_t)(f->time_ns - window) : 1;
	int64_t at = (int64_t)(t->at_ns ? t->at_ns : f->time_ns) + steps * (int64_t)step;

	t->at_ns = at >= (int64_t)f->time_ns ? 0 : (uint64_t)(at < first ? first : at);
}

bool graph_request(const struct figures *f, struct graph_time *t, enum request r)
{
	switch (r) {
	case REQ_ZOOM_IN_TIME: t->window_ns = zoom(f, t, -1); break;
	case REQ_ZOOM_OUT_TIME: t->window_ns = zoom(f, t, 1); break;
	case REQ_EARLIER: move_cursor(f, t, -1); break;
	case REQ_LATER: move_cursor(f, t, 1); break;
	case REQ_EARLIEST: move_cursor(f, t, -CURSOR_STEPS); break;
	case REQ_NOW: t->at_ns = 0; break;
	default: return false;
	}
	return true;
}

size_t graph_instant(const struct figures *f, const struct graph_time *t)
{
	bool then = t->at_ns && f->point_count;
	size_t i = then ? figures_point_at(f, t->at_ns) : SIZE_MAX;

	return then && i == SIZE_MAX ? 0 : i;
}

/* Times of a column: (left, right], session time; false when it lies before the start. */
static bool column_time(const struct figures *f, uint64_t window, int x, int w, uint64_t *left,
			uint64_t *right)
{
	int64_t from = (int64_t)f->time_ns - (int64_t)window;
	int64_t l = from + (int64_t)((double)window * x / w),
		r = from + (int64_t)((double)window * (x + 1) / w);

	*left = l < 0 ? 0 : (uint64_t)l;
	*right = r < 0 ? 0 : (uint64_t)r;
	return r > 0;
}

/* A cumulative counter at a time, between two points on the straight line. */
static double counter_at(const struct figures *f, uint64_t t, enum graph_rate which)
{
	size_t i = figures_point_at(f, t);
#define COUNTER(n)                                                                                 \
	(double)(which == GRAPH_ALLOC ? f->points[n].alloc_blocks : f->points[n].free_blocks)

	if (i == SIZE_MAX)
		return f->point_count ? COUNTER(0) * (double)t / (double)(f->points[0].time_ns + 1)
				      : 0;
	if (i + 1 >= f->point_count)
		return COUNTER(i);
	double span = (double)(f->points[i + 1].time_ns - f->points[i].time_ns);
	double part = span > 0 ? (double)(t - f->points[i].time_ns) / span : 0;
	return COUNTER(i) + part * (COUNTER(i + 1) - COUNTER(i));
#undef COUNTER
}

double graph_rate_at(const struct figures *f, const struct graph_time *t, enum graph_rate which)
{
	uint64_t right = t->at_ns, length = graph_window(f, t) / CURSOR_STEPS;

	if (graph_instant(f, t) == SIZE_MAX)
		return which == GRAPH_ALLOC ? f->ten.alloc_blocks : f->ten.free_blocks;
	uint64_t left = right > length ? right - length : 0;
	return right > left ? (counter_at(f, right, which) - counter_at(f, left, which)) * 1e9 / (double)(right - left) : 0;
}

/* The point that the window begins with; SIZE_MAX = none is as old. */
static size_t window_start(const struct figures *f, const struct graph_time *t)
{
	uint64_t window = graph_window(f, t);

	return figures_point_at(f, f->time_ns > window ? f->time_ns - window : 0);
}

/* Before all points nobody held anything. */
static bool start_known(const struct figures *f, size_t first)
{
	return first != SIZE_MAX ? f->known[first] : !f->point_count || f->known[0];
}

char *graph_title(char *out, size_t size, const struct figures *f, const struct graph_time *t, bool focus)
{
	size_t at = graph_instant(f, t), known = figures_known_from(f);
	const char *by = f->direct ? "direct caller" : "owner library", *keys = focus ? "  (+ - Left Right)" : "";
	bool there = figures_arrived(f, t->at_ns);
	char one[32], two[32], three[32];

	if (at != SIZE_MAX)
		snprintf(out, size, "Live by %s at %s, %s ago: %s%s", by, text_clock(one, there ? f->at_ns : t->at_ns),
			 text_span(two, f->time_ns - t->at_ns),
			 text_bytes(three, there ? live_bytes(&f->totals.sum) : f->points[at].live_bytes),
			 there || f->known[at] ? "" : ", of whom is not known");
	else if (!start_known(f, window_start(f, t)) && known < f->point_count)
		snprintf(out, size, "Live by %s, known since %s%s", by, text_clock(one, f->points[known].time_ns), keys);
	else
		snprintf(out, size, "Live by %s, net over %s%s", by, text_span(one, graph_window(f, t)), keys);
	return out;
}

/* Smallest round number that is not below v: one or two digits in units of the base. */
static double round_up(double v, double base)
{
	double unit = 1;

	while (unit * base <= v)
		unit *= base;
	for (double step = unit; ; step *= 10) {
		static const double steps[] = { 1, 1.5, 2, 3, 4, 5, 6, 8 };
		for (int i = 0; i < 8; i++)
			if (step * steps[i] >= v)
				return step * steps[i];
	}
}

/* Fills one column's cell row by row: value 0..1 of the height. Two make one braille cell. */
static void fill_cell(const struct area *a, int y0, int x, int h, enum role r, double left,
		      double right)
{
	static const unsigned dots[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
	int steps = text_ascii() ? 3 : 4;
	long l = isnan(left) ? 0 : lround(left * h * steps),
	     rr = isnan(right) ? 0 : lround(right * h * steps);

	for (int row = 0; row < h; row++) { /* from below */
		long in_l = l - (long)row * steps, in_r = rr - (long)row * steps;
		char out[8] = "";
		if (text_ascii()) {
			long n = in_l > in_r ? in_l : in_r;
			snprintf(out, sizeof out, "%s",
				 n >= 3	  ? "#"
				 : n == 2 ? ":"
				 : n == 1 ? "."
					  : "");
		} else {
			unsigned bits = 0;
			for (long i = 0; i < 4; i++)
				bits |= (in_l > i ? dots[0][i] : 0) | (in_r > i ? dots[1][i] : 0);
			unsigned c = 0x2800 + bits;
			if (bits)
				snprintf(out, sizeof out, "%c%c%c", 0xe0 | (int)(c >> 12),
					 0x80 | (int)(c >> 6 & 0x3f), 0x80 | (int)(c & 0x3f));
		}
		if (*out)
			draw_text(a, y0 + h - 1 - row, x, r, out);
	}
}

void graph_rate(const struct area *a, const struct figures *f, const struct graph_time *t,
		enum graph_rate which, enum role r, const char *label)
{
	uint64_t window = graph_window(f, t), left, right;
	int w = a->w - SCALE_WIDTH, n = 2 * w;
	double values[2 * COLUMNS_MAX], most = 0;
	char number[32];

	if (w < 4 || w > COLUMNS_MAX || a->h < 1)
		return;
	for (int i = 0; i < n; i++) {
		values[i] = NAN;
		if (!column_time(f, window, i, n, &left, &right) || right <= left ||
		    f->point_count == 0)
			continue;
		values[i] = (counter_at(f, right, which) - counter_at(f, left, which)) * 1e9 /
			    (double)(right - left);
		most = values[i] > most ? values[i] : most;
	}
	most = round_up(most < 10 ? 10 : most, 1000);
	for (int x = 0; x < w; x++)
		fill_cell(a, 0, SCALE_WIDTH + x, a->h, r, values[2 * x] / most,
			  values[2 * x + 1] / most);
	draw_right(a, 0, 0, SCALE_WIDTH - 1, ROLE_DIM, text_short(number, most));
	if (a->h > 2)
		draw_right(a, a->h - 1, 0, SCALE_WIDTH - 1, ROLE_DIM, "0");
	char spaced[64];
	snprintf(spaced, sizeof spaced, " %s", label);
	int at = a->w - text_width(spaced);
	draw_text(a, 0, at > SCALE_WIDTH ? at : SCALE_WIDTH, r, spaced);
}

void graph_spark(const struct area *a, int y, int x, int w, enum role r, const uint64_t *values,
		 size_t count)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < count; i++) {
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
	}
	for (int i = 0; count && i < w; i++) {
		uint64_t v = values[count <= (size_t)w ? (size_t)i : (size_t)i * count / (size_t)w];
		if (count <= (size_t)w && (size_t)i >= count)
			break;
		unsigned n = most == least ? (most ? 4 : 0) :
			     1 + (unsigned)((double)(v - least) * 7 / (double)(most - least) + 0.5);
		draw_text(a, y, x + i, r, text_eighth(n));
	}
}

static int column_of(const struct figures *f, uint64_t time_ns, int w, uint64_t window)
{
	return w - 1 - (int)(((double)f->time_ns - (double)time_ns) * w / (double)window);
}

/* Marks as "m1" where they lie. */
static int mark_column(const struct figures *f, size_t mark, int w, uint64_t window)
{
	return column_of(f, f->marks[mark].time_ns, w, window);
}

static void draw_marks(const struct area *a, int y, int x, int w, const struct figures *f,
		       uint64_t window, int limit)
{
	int free_from = 0;

	for (size_t i = 0; i < f->mark_count; i++) {
		int at = mark_column(f, i, w, window);
		char name[16];
		int len = snprintf(name, sizeof name, "m%u", f->marks[i].id);
		if (at < free_from || at + len > limit)
			continue;
		draw_text(a, y, x + at, ROLE_MARK, name);
		free_from = at + len + 1;
	}
}

void graph_strip(const struct area *a, int y, int x, int w, const struct figures *f,
		 const struct graph_time *t)
{
	uint64_t window = graph_window(f, t), left, right, most = 1;

	for (size_t i = 0; i < f->point_count; i++)
		if (f->points[i].time_ns + window >= f->time_ns && f->points[i].live_bytes > most)
			most = f->points[i].live_bytes;
	for (int i = 0; i < w; i++) {
		size_t p = column_time(f, window, i, w, &left, &right) ? figures_point_at(f, right)
								       : SIZE_MAX;
		if (p != SIZE_MAX)
			draw_text(a, y, x + i, ROLE_ALLOC,
				  text_eighth(1 + (unsigned)((double)f->points[p].live_bytes * 7 /
							     (double)most)));
	}
	draw_marks(a, y, x, w, f, window, w);
}

/* Columns that a mark's name may cover. */
static bool mark_within(const struct figures *f, int w, uint64_t window, int from, int to)
{
	for (size_t i = 0; i < f->mark_count; i++) {
		int at = mark_column(f, i, w, window);
		if (at + 3 >= from && at <= to)
			return true;
	}
	return false;
}

void graph_axis(const struct area *a, int y, int x, int w, const struct figures *f,
		const struct graph_time *t, bool marks)
{
	uint64_t s = graph_window(f, t) / SECOND;
	char from[32], half[32];
	const char *unit = s % 3600 == 0 ? "h" : s % 60 == 0 && s > 60 ? "m" : "s";
	double scale = *unit == 'h' ? 3600 : *unit == 'm' ? 60 : 1;

	snprintf(from, sizeof from, "-%g%s", (double)s / scale, unit);
	snprintf(half, sizeof half, "-%g%s", (double)s / scale / 2, unit);
	int middle = w / 2 - text_width(half) / 2;
	uint64_t window = graph_window(f, t);
	if (!marks || !mark_within(f, w, window, 0, text_width(from)))
		draw_text(a, y, x, ROLE_DIM, from);
	if (w > 24 && (!marks || !mark_within(f, w, window, middle, middle + text_width(half))))
		draw_text(a, y, x + middle, ROLE_DIM, half);
	draw_text(a, y, x + w - 3, ROLE_DIM, "now");
	if (marks)
		draw_marks(a, y, x, w, f, window, w - 4);
}

/* --- owners as bands */

struct bands {
	size_t shown;        /* owners with a band of their own; the rest is one more */
	int64_t start[FIGURES_OWNERS + 1]; /* live at the window's start */
	bool start_known;    /* ... of whom it was */
	size_t at;           /* point that the cursor is at; SIZE_MAX = now */
	bool arrived;        /* all figures are of that instant */
	int column;          /* ... and its column; -1 = none */
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
		return owner < b->shown ? figures_owner_at(f, owner, b->at) : others_at(f, b->shown, b->at);
	if (owner < b->shown)
		return live_bytes(&f->owners[owner].sum);
	for (size_t k = 0; k < b->shown; k++)
		sum += live_bytes(&f->owners[k].sum);
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
		bool rest = i == b->shown, estimate = rest ? f->rest_estimate : f->owners[i].estimate;
		uint64_t now = live_then(f, b, i);
		char letter = rest ? '.' : f->owners[i].letter;
		if (rest) {
			for (size_t k = b->shown; k < f->owner_count; k++)
				estimate |= f->owners[k].estimate;
			snprintf(name, sizeof name, "%zu others", f->owner_total - b->shown);
		} else {
			snprintf(name, sizeof name, "%s", f->owners[i].name);
		}
		char mark[2] = { letter, 0 };
		draw_text(a, y, 0, draw_owner_role(letter), rest ? text_glyph(GLYPH_DOT) : mark);
		int room = a->w - 2 - 1, wider = cells_wider(SIZE_HELD); /* letter and space; arrow */
		if (a->w >= LEGEND_DELTA + 2 * wider) {
			int64_t d = (int64_t)now - b->start[i];
			room -= 9 + wider;
			if (both)
				cell_net((struct cell){ a, y, 2 + room, 8 + wider, estimate }, d);
		}
		room -= 8 + wider;
		if (known)
			cell_bytes((struct cell){ a, y, 2 + room, 7 + wider, estimate }, now);
		char *version = strstr(name, ".so.");
		if (version && text_width(name) > room - 1) /* before the middle of the name */
			version[3] = 0;
		draw_clip(a, y, 2, room - 1, ROLE_NAME, CLIP_MIDDLE, name);
		if (i == grows)
			draw_text(a, y, a->w - 1, ROLE_BAD, text_glyph(GLYPH_GROWS));
	}
}

/* Which band a height (in bytes) of a point falls into: owner index, shown = others, -1 = above. */
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
		size_t p = column_time(f, window, x, a->w, &left, &right)
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
				draw_text(a, a->h - 1 - row, x, ROLE_DIM, text_glyph(GLYPH_UNKNOWN));
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
	size_t first = window_start(f, t);
	int most_w = LEGEND_MAX + 2 * cells_wider(SIZE_HELD), side_w = a->w * 9 / 20 < most_w ? a->w * 9 / 20 : most_w;
	bool legend = side_w >= LEGEND_MIN;
	struct bands b = { 0 };
	char number[32];

	for (size_t i = first == SIZE_MAX ? 0 : first; i < f->point_count; i++)
		peak = f->points[i].live_bytes > peak ? f->points[i].live_bytes : peak;
	double most = round_up((double)peak, 1024);
	int plot_h = a->h - 1, rows = plot_h < 1 ? 0 : plot_h;
	b.shown = f->owner_count <= (size_t)rows ? f->owner_count : rows > 1 ? (size_t)rows - 1 : 0;
	for (size_t i = 0; first != SIZE_MAX && i < b.shown; i++)
		b.start[i] = (int64_t)figures_owner_at(f, i, first);
	if (first != SIZE_MAX)
		b.start[b.shown] = (int64_t)others_at(f, b.shown, first);
	b.start_known = start_known(f, first);
	b.at = graph_instant(f, t);
	struct area plot =
		area_sub(a, 0, SCALE_WIDTH, plot_h, a->w - SCALE_WIDTH - (legend ? side_w + 1 : 0));
	b.arrived = figures_arrived(f, t->at_ns);
	b.column = b.at == SIZE_MAX ? -1 : t->at_ns <= start ? 0 : column_of(f, t->at_ns, plot.w, window);
	b.column = b.at != SIZE_MAX && b.column < 0 ? 0 : b.column;
	draw_bands(&plot, f, &b, window, most);
	/* Round numbers, in few columns whatever sizes are shown in. */
	draw_right(a, 0, 0, SCALE_WIDTH - 1, ROLE_DIM, text_bytes_in(number, (uint64_t)most, UNITS_AUTO));
	if (plot_h > 4)
		draw_right(a, plot_h / 2, 0, SCALE_WIDTH - 1, ROLE_DIM,
			   text_bytes_in(number, (uint64_t)(most / 2), UNITS_AUTO));
	draw_right(a, plot_h - 1, 0, SCALE_WIDTH - 1, ROLE_DIM, "0");
	graph_axis(a, plot_h, SCALE_WIDTH, plot.w, f, t, true);
	if (legend) {
		struct area side = area_sub(a, 0, a->w - side_w, plot_h, side_w);
		draw_legend(&side, f, &b, plot_h - 1);
	}
}
