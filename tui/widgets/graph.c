/* SPDX-License-Identifier: MIT
 *
 * graph.c - see widgets/graph.h: which time graphs show, their axis, and the curves of one line.
 */
#include "widgets/graph_part.h"

#include "query/query.h"

#define SECOND 1000000000ull
#define MS 1000000ull
#define GROWING 7 /* the shortest window of a session that goes on by itself: 30 s */
/* The cursor's earliest place is the first instant, unless points go back by so many steps more. */
#define START_STEPS 5
#define EACH_MOST 240       /* with more instants in the window, a step skips some */
#define SHORT (60 * SECOND) /* sessions, and windows of a sixth of it: times have milliseconds */

static const uint64_t windows[] = {
	100 * MS,       200 * MS,       500 * MS,        SECOND,           2 * SECOND,
	5 * SECOND,     10 * SECOND,    30 * SECOND,     60 * SECOND,      120 * SECOND,
	300 * SECOND,   600 * SECOND,   1800 * SECOND,   3600 * SECOND,    7200 * SECOND,
	21600 * SECOND, 86400 * SECOND, 604800 * SECOND, 2592000 * SECOND,
};
#define WINDOWS (sizeof windows / sizeof windows[0])

uint64_t graph_window(const struct figures *f, const struct graph_time *t)
{
	if (t->window_ns)
		return t->window_ns;
	for (size_t i = f->still ? 0 : GROWING; i < WINDOWS; i++)
		if (windows[i] >= 600 * SECOND || windows[i] >= f->time_ns)
			return windows[i];
	return 600 * SECOND;
}

/* The next longer (step 1) or shorter (-1) window; the longest is the first that holds the whole
 * session. */
static uint64_t zoom(const struct figures *f, const struct graph_time *t, int step)
{
	uint64_t now = graph_window(f, t);
	size_t at = 0;

	while (at + 1 < WINDOWS && windows[at] < now)
		at++;
	if (step > 0 && at + 1 < WINDOWS && (windows[at] < f->time_ns || windows[at] < 60 * SECOND))
		at++;
	if (step < 0 && at > 0)
		at--;
	return windows[at];
}

char *graph_span(char *out, uint64_t window)
{
	return window < SECOND ? text_span_short(out, window) : text_span(out, window);
}

static bool in_ms(const struct figures *f, const struct graph_time *t)
{
	return f->time_ns < SHORT || graph_window(f, t) <= SHORT / 6;
}

char *graph_clock(char *out, const struct figures *f, const struct graph_time *t, uint64_t time_ns)
{
	return in_ms(f, t) ? text_clock_ms(out, time_ns) : text_clock(out, time_ns);
}

char *graph_ago(char *out, const struct figures *f, const struct graph_time *t, uint64_t ns)
{
	return in_ms(f, t) ? text_ago(out, ns) : text_span(out, ns);
}

/* The cursor's earliest instant: the later of the window's start and the session's first known
 * one. */
static uint64_t earliest(const struct figures *f, uint64_t window, uint64_t step,
			 const struct instant *list, size_t n)
{
	uint64_t first = f->time_ns > window ? f->time_ns - window : 1,
		 known = f->point_count ? f->points[0].time_ns : 1;

	if (n && list[0].time_ns < known + START_STEPS * step)
		known = list[0].time_ns;
	return first > known ? first : known;
}

/* The instant so many steps from instant `at`; with many instants in the window, a step is a part
 * of it. SIZE_MAX: before the first. */
static size_t beside(const struct model *now, size_t at, size_t first, size_t n, int steps,
		     uint64_t time)
{
	size_t to = model_instant_at(now, time);
	bool one = steps == -1 || steps == 1;

	if (one && n - first <= EACH_MOST)
		to = steps < 0 && at == first ? SIZE_MAX : at + (size_t)(int64_t)steps;
	else if (steps > 0 && (to == SIZE_MAX || to <= at))
		to = at + 1;
	else if (steps < 0 && to != SIZE_MAX && to >= at && at > first)
		to = at - 1;
	return to;
}

/*
 * The cursor stands on recorded instants. Before the first of them it stands on any point of the
 * history, which only the graphs show.
 */
static void move_cursor(const struct figures *f, struct graph_time *t, const struct model *now,
			int steps)
{
	const struct instant *list;
	size_t n = model_instants(now, &list);
	uint64_t window = graph_window(f, t),
		 step = (window < f->time_ns ? window : f->time_ns) / GRAPH_CURSOR_STEPS;
	uint64_t least = earliest(f, window, step, list, n),
		 from = t->at_ns ? t->at_ns : f->time_ns;
	int64_t aim = (int64_t)from + steps * (int64_t)step;
	uint64_t time = aim < (int64_t)least ? least : (uint64_t)aim;

	if (!n)
		return;
	size_t first = model_instant_at(now, least - 1) + 1; /* SIZE_MAX + 1 = 0 */
	size_t at = t->at_ns ? model_instant_at(now, from) : n - 1;
	size_t to = at == SIZE_MAX ? model_instant_at(now, time)
				   : beside(now, at, first, n, steps, time);
	if (steps > 0 && to != SIZE_MAX && to + 1 >= n)
		t->at_ns = 0;
	else if (to == SIZE_MAX || list[to].time_ns < least)
		t->at_ns = time;
	else
		t->at_ns = list[to].time_ns;
}

bool graph_action(const struct figures *f, struct graph_time *t, const struct model *now,
		  enum action r)
{
	switch (r) {
	case ACT_ZOOM_IN_TIME: t->window_ns = zoom(f, t, -1); break;
	case ACT_ZOOM_OUT_TIME: t->window_ns = zoom(f, t, 1); break;
	case ACT_EARLIER: move_cursor(f, t, now, -1); break;
	case ACT_LATER: move_cursor(f, t, now, 1); break;
	case ACT_EARLIEST: move_cursor(f, t, now, -GRAPH_CURSOR_STEPS); break;
	case ACT_NOW: t->at_ns = 0; break;
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

bool graph_column_time(const struct figures *f, uint64_t window, int x, int w, uint64_t *left,
		       uint64_t *right)
{
	int64_t from = (int64_t)f->time_ns - (int64_t)window;
	int64_t l = from + (int64_t)((double)window * x / w),
		r = from + (int64_t)((double)window * (x + 1) / w);

	*left = l < 0 ? 0 : (uint64_t)l;
	*right = r < 0 ? 0 : (uint64_t)r;
	return r > 0;
}

size_t graph_window_start(const struct figures *f, const struct graph_time *t)
{
	uint64_t window = graph_window(f, t);

	return figures_point_at(f, f->time_ns > window ? f->time_ns - window : 0);
}

bool graph_start_known(const struct figures *f, size_t first)
{
	return first != SIZE_MAX ? f->known[first] : !f->point_count || f->known[0];
}

char *graph_title(char *out, size_t size, const struct figures *f, const struct graph_time *t,
		  bool focus)
{
	size_t at = graph_instant(f, t), known = figures_known_from(f);
	const char *by = f->direct ? "direct caller" : "owner library",
		   *keys = focus ? "  (+ - Left Right)" : "";
	bool there = figures_arrived(f, t->at_ns);
	char one[32], two[32], three[32];

	if (at != SIZE_MAX)
		snprintf(out, size, "Live by %s at %s, %s ago: %s%s", by,
			 graph_clock(one, f, t, there ? f->at_ns : t->at_ns),
			 graph_ago(two, f, t, f->time_ns - t->at_ns),
			 text_bytes(three,
				    there ? live_bytes(&f->totals.sum) : f->points[at].live_bytes),
			 there || f->known[at] ? "" : ", owners unknown");
	else if (!graph_start_known(f, graph_window_start(f, t)) && known < f->point_count)
		snprintf(out, size, "Live by %s, known since %s%s", by,
			 graph_clock(one, f, t, f->points[known].time_ns), keys);
	else
		snprintf(out, size, "Live by %s, net over %s%s", by,
			 graph_span(one, graph_window(f, t)), keys);
	return out;
}

double graph_round_up(double v, double base)
{
	double unit = 1;

	while (unit * base <= v)
		unit *= base;
	for (double step = unit;; step *= 10) {
		static const double steps[] = { 1, 1.5, 2, 3, 4, 5, 6, 8 };
		for (int i = 0; i < 8; i++)
			if (step * steps[i] >= v)
				return step * steps[i];
	}
}

void graph_spark(const struct area *a, int y, int x, int w, enum role r, const uint64_t *values,
		 size_t count)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < count; i++) {
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
	}
	size_t columns = count < (size_t)w ? count : (size_t)w;
	for (size_t i = 0; i < columns; i++) {
		uint64_t v = values[i * count / columns];
		unsigned n =
			most == least
				? (most ? 4 : 0)
				: 1 + (unsigned)((double)(v - least) * 7 / (double)(most - least) +
						 0.5);
		draw_text(a, y, x + (int)i, r, text_eighth(n));
	}
}

int graph_column_of(const struct figures *f, uint64_t time_ns, int w, uint64_t window)
{
	return w - 1 - (int)(((double)f->time_ns - (double)time_ns) * w / (double)window);
}

/* Marks as "m1" where they lie. */
static int mark_column(const struct figures *f, size_t mark, int w, uint64_t window)
{
	return graph_column_of(f, f->marks[mark].time_ns, w, window);
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
		size_t p = graph_column_time(f, window, i, w, &left, &right)
				   ? figures_point_at(f, right)
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
	uint64_t ms = graph_window(f, t) / MS, s = ms / 1000;
	char from[32], half[32];
	const char *unit = !s ? "ms" : s % 3600 == 0 ? "h" : s % 60 == 0 && s > 60 ? "m" : "s";
	double scale = !s ? 1 : *unit == 'h' ? 3600e3 : *unit == 'm' ? 60e3 : 1e3;

	snprintf(from, sizeof from, "-%g%s", (double)ms / scale, unit);
	snprintf(half, sizeof half, "-%g%s", (double)ms / scale / 2, unit);
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
