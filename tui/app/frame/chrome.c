/* SPDX-License-Identifier: MIT
 *
 * chrome.c - the frame of every view: the lines above (app/frame/header.c), the tabs and the last
 * line. All figures come from ui.shown.figures, so all lines show one instant.
 */
#include "app/frame/chrome.h"
#include "app/actions.h"
#include "widgets/cells.h"
#include "widgets/mouse.h"
#include "screen/term.h"

#include <string.h>

/* The tabs with names of `level`: 2 whole, 1 brief, 0 only of the view that is shown. Returns the
 * width. */
static int tabs(struct app *a, const struct area *s, int y, int level, bool drawn)
{
	char text[64];
	int x = 0;

	for (int i = 0; i < VIEW_COUNT; i++) {
		if (!a->front.views[i])
			continue;
		int digit = i + 1;
		bool here = i == (int)a->front.current;
		const char *name = level == 2      ? view_info((enum view_id)i)->title
				   : level || here ? view_info((enum view_id)i)->brief
						   : "";
		snprintf(text, sizeof text,
			 here    ? "[%d %s]"
			 : *name ? " %d %s "
				 : " %d",
			 digit, name);
		if (drawn) {
			draw_text(s, y, x, here ? ROLE_TAB_ACTIVE : ROLE_TAB, text);
			mouse_action(s, y, x, text_width(text), action_of_view((enum view_id)i));
		}
		x += text_width(text);
	}
	return x;
}

#define SAID_NS 50000000u /* a shorter rebuild is not announced */

static int caption(struct app *a, bool brief, char *out, size_t size)
{
	struct view *v = a->front.views[a->front.current];
	const char *by = !a->ui.shown.figures.direct ? ""
			 : brief                     ? "by caller"
						     : "by direct caller";
	char own[512] = "";

	if (v->ops->caption && model_program(a->ui.shown.model))
		v->ops->caption(v, brief, own, sizeof own);
	snprintf(out, size, "%s%s%s", by, *by && *own ? "  " : "", own);
	if (a->ui.shown.filter[0] && !v->ops->no_filter) {
		size_t len = strlen(out);
		snprintf(out + len, size - len, "%sfilter: %s", len ? "  " : "",
			 a->ui.shown.filter);
	}
	return text_width(out);
}

/* The caption matters more than the tabs: tabs lose their names first, then the caption is cut. */
static void draw_tabs(struct app *a, const struct area *s, int y)
{
	char text[640];
	int level = s->w >= 100 ? 2 : s->w >= 60 ? 1 : 0;
	int wide = caption(a, false, text, sizeof text), x = tabs(a, s, y, level, false);

	if (wide > s->w - x - 2)
		wide = caption(a, true, text, sizeof text);
	while (level && wide > s->w - x - 2)
		x = tabs(a, s, y, --level, false);
	tabs(a, s, y, level, true);
	int room = s->w - x - 2;
	if (wide > room)
		draw_clip(s, y, x + 1, room, ROLE_MARK, CLIP_END, text);
	else
		draw_text(s, y, s->w - wide - 1, ROLE_MARK, text);
}

/* What a key does now. */
static const char *brief_of(const struct app *a, enum action r)
{
	if (r == ACT_DIFF && model_diffing(a->ui.shown.model))
		return interval_between(a->ui.shown.model) ? "Back to now" : "Diff off";
	return action_info(r)->brief;
}

static int hint(const struct app *a, const struct area *s, int y, int x, enum action r)
{
	char key[16];
	int start = x;

	x += draw_text(s, y, x, ROLE_KEY, key_label(key, action_key(r, 0)));
	x += 1 + draw_text(s, y, x + 1, ROLE_HINT, brief_of(a, r));
	mouse_action(s, y, start, x - start, r);
	return x - start;
}

static int hint_width(const struct app *a, enum action r)
{
	char key[16];

	return text_width(key_label(key, action_key(r, 0))) + 1 + text_width(brief_of(a, r));
}

static bool in_foci(const enum focus *foci, enum focus f)
{
	for (; *foci != FOCUS_NONE; foci++)
		if (*foci == f)
			return true;
	return false;
}

static void draw_hints(struct app *a, const struct area *s, int y)
{
	const enum focus *foci = front_view(a)->ops->foci(front_view(a));
	static const enum action last[] = { ACT_HELP, ACT_BACK, ACT_QUIT };
	int right = s->w;

	draw_fill(s, y, 0, -1, ROLE_HINT);
	for (size_t i = sizeof last / sizeof last[0]; i-- > 0 && right > s->w - 30;) {
		right -= hint_width(a, last[i]) + 2;
		hint(a, s, y, right + 1, last[i]);
	}
	int x = 1;
	/* The way back from a diff of the past is never left out. */
	if (interval_between(a->ui.shown.model) && !front_view(a)->ops->no_diff &&
	    x + hint_width(a, ACT_DIFF) <= right)
		x += hint(a, s, y, x, ACT_DIFF) + 2;
	for (int own = 1; own >= 0; own--)
		for (int r = 1; r < ACT_COUNT; r++) {
			const struct action_info *info = action_info((enum action)r);
			bool none = (r == ACT_DIFF && front_view(a)->ops->no_diff) ||
				    (a->options->diff && !compared_help((enum action)r));
			bool ends = r == ACT_HELP || r == ACT_BACK || r == ACT_QUIT ||
				    (r == ACT_DIFF && interval_between(a->ui.shown.model));
			if (!*info->brief || ends || none ||
			    (own ? !in_foci(foci, info->focus) : info->focus != FOCUS_GLOBAL))
				continue;
			if (x + hint_width(a, (enum action)r) > right)
				continue;
			x += hint(a, s, y, x, (enum action)r) + 2;
		}
}

/* A long status text also takes the line above, because its end gives the remedy. */
static void draw_status(const struct area *s, int y, enum role r, const char *text)
{
	int lines = text_width(text) > s->w - 2 && s->h >= 8 ? 2 : 1;
	struct area low = area_sub(s, y + 1 - lines, 0, lines, -1);

	for (int i = 0; i < lines; i++)
		draw_fill(&low, i, 0, -1, ROLE_NORMAL);
	if (lines == 1)
		draw_clip(&low, 0, 1, s->w - 1, r, CLIP_END, text);
	else
		draw_words(&low, 0, 1, r, text);
}

static void draw_last_line(struct app *a, const struct area *s, int y, int *cursor_x)
{
	enum role r;
	const char *text = status_text(&r);
	char hits[128];

	*cursor_x = -1;
	if (a->ui.prompt.open) {
		prompt_draw(&a->ui.prompt, s, y, cursor_x);
		if (a->front.find.typing && find_on(&a->front.find, &a->ui)) {
			snprintf(hits, sizeof hits,
				 a->front.find.pending ? "%ld hit%s, %zu name%s pending"
						       : "%ld hit%s",
				 a->front.find.hits, format_s((uint64_t)a->front.find.hits),
				 a->front.find.pending, format_s(a->front.find.pending));
			draw_right(s, y, s->w - 30, 29, ROLE_PROMPT, hits);
		}
	} else if (text) {
		draw_status(s, y, r, text);
	} else {
		draw_hints(a, s, y);
	}
}

static void measure_sizes(struct app *a)
{
	const struct totals *t = &a->ui.shown.figures.totals;
	uint64_t most = t->peak_bytes > a->ui.shown.figures.rss_bytes
				? t->peak_bytes
				: a->ui.shown.figures.rss_bytes;

	a->most_held = most > a->most_held ? most : a->most_held;
	cells_largest(a->most_held, t->sum.alloc_bytes);
}

/* Returns the lines used. */
static int draw_top_compared(const struct diff *d, const struct area *s)
{
	int y = 1;

	compared_header(d, s);
	if (s->h >= 6)
		compared_verdict(d, s, y++);
	if (s->h >= 16)
		compared_totals(d, s, y++);
	return y;
}

static int draw_top(struct app *a, const struct area *s)
{
	int y = 1;

	if (a->options->diff)
		return draw_top_compared(a->options->diff->d, s);
	frame_header(a, s);
	if (s->h >= 6)
		frame_verdict(a, s, y++);
	if (s->h >= 16) {
		if (model_program(a->ui.shown.model))
			frame_totals(&a->ui.shown, s, y);
		y++;
	}
	if (s->h >= 20 && a->front.current != VIEW_OVERVIEW && !a->page)
		frame_strip(&a->ui.shown, s, y++);
	return y;
}

void frame_draw(struct app *a)
{
	struct area s = { 0, 0, term_rows(), term_columns() };
	int y, cursor_x, last = s.h - 1;

	draw_clear();
	mouse_forget();
	measure_sizes(a);
	table_direct(a->ui.shown.figures.direct);
	cells_rates_over(a->ui.shown.figures.window_ns);
	cells_percent_of(a->choices.percent ? live_bytes(&a->ui.shown.figures.totals.sum) : 0);
	cells_prefix(a->ui.shown.figures.whole || !model_program(a->ui.shown.model)
			     ? ""
			     : text_glyph(GLYPH_AT_LEAST));
	if (s.h < 1 || s.w < 1)
		return;
	y = draw_top(a, &s);
	if (a->page) {
		if (s.h >= 4)
			draw_rule(&s, y++, ROLE_BORDER, a->page->ops->title);
	} else if (s.h >= 5 && a->front.current != VIEW_OVERVIEW) {
		draw_tabs(a, &s, y++);
	}
	struct area body = area_sub(&s, y, 0, last - y > 0 ? last - y : 0, -1);
	if (a->front.current == VIEW_OVERVIEW && !a->page) {
		/* The Overview draws its graphs above the tabs. */
		struct area tabs = area_sub(&body, view_overview_graph_height(), 0, 1, -1);
		draw_tabs(a, &tabs, 0);
	}
	if (body.h > 0)
		front_view(a)->ops->draw(front_view(a), &body);
	if (s.h >= 2)
		draw_last_line(a, &s, last, &cursor_x);
	else
		cursor_x = -1;
	term_cursor(cursor_x >= 0 ? last : -1, cursor_x);
}
