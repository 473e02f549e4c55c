/* SPDX-License-Identifier: MIT */
#include "widgets/page.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2
#define NARROW 60 /* columns: less show no module */

static void page_line_free(struct page_line *l)
{
	free(l->text);
	free(l->place);
	free(l->from);
}

void page_clear(struct page *p)
{
	for (size_t i = 0; i < p->count; i++)
		page_line_free(&p->lines[i]);
	p->count = 0;
}

void page_free(struct view *v)
{
	struct page *p = (struct page *)v;

	page_clear(p);
	free(p->lines);
	free(v);
}

void page_add(struct page *p, enum role r, const char *format, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	GROW(p->lines, p->room, p->count + 1);
	p->lines[p->count++] = (struct page_line){ r, xstrdup(text), NULL, NULL };
}

void page_add_columns(struct page *p, enum role r, const char *text, const char *place,
		      const char *from)
{
	page_add(p, r, "%s", text);
	p->lines[p->count - 1].place = xstrdup(place);
	p->lines[p->count - 1].from = xstrdup(from);
}

const enum focus *page_foci(struct view *v)
{
	static const enum focus foci[] = { FOCUS_TEXT, FOCUS_NONE };

	(void)v;
	return foci;
}

static bool hit(const struct page *p, size_t i)
{
	const struct page_line *l = &p->lines[i];

	return p->search[0] &&
	       (strcasestr(l->text, p->search) ||
		(l->place && (strcasestr(l->place, p->search) || strcasestr(l->from, p->search))));
}

struct widths {
	int text, place, from;
};

static struct widths widths_of(const struct page *p, int w)
{
	struct widths most = { 0, 0, 0 };

	for (size_t i = 0; i < p->count; i++) {
		const struct page_line *l = &p->lines[i];
		if (!l->place)
			continue;
		most.text = text_width(l->text) > most.text ? text_width(l->text) : most.text;
		most.from = text_width(l->from) > most.from ? text_width(l->from) : most.from;
	}
	most.from = w < NARROW ? 0 : most.from > w / 5 ? w / 5 : most.from;
	most.text = most.text > w / 2 ? w / 2 : most.text;
	most.place = w - most.text - most.from - 2 * GAP;
	return most;
}

static void draw_line(const struct page_line *l, const struct area *a, int y, enum role r,
		      const struct widths *w)
{
	if (!l->place) {
		draw_text(a, y, 1, r, l->text);
		return;
	}
	cell_name((struct cell){ a, y, 1, w->text, false },
		  &(struct cell_name){ .name = l->text, .role = r });
	draw_clip(a, y, 1 + w->text + GAP, w->place, r, CLIP_START, l->place);
	if (w->from)
		draw_clip(a, y, 1 + w->text + w->place + 2 * GAP, w->from, r, CLIP_MIDDLE, l->from);
}

void page_draw(struct view *v, const struct area *a)
{
	struct page *p = (struct page *)v;
	struct widths w = widths_of(p, a->w - 1);

	p->height = a->h;
	if (p->top + (size_t)a->h > p->count)
		p->top = p->count > (size_t)a->h ? p->count - (size_t)a->h : 0;
	names_begin();
	for (int y = 0; y < a->h && p->top + (size_t)y < p->count; y++) {
		size_t i = p->top + (size_t)y;
		if (hit(p, i))
			draw_text(a, y, 0, ROLE_HIT, text_glyph(GLYPH_HIT));
		draw_line(&p->lines[i], a, y, hit(p, i) ? ROLE_HIT : p->lines[i].role, &w);
	}
	names_end();
	if (p->top + (size_t)a->h < p->count) {
		size_t below = p->count - p->top - (size_t)a->h;
		char more[64];
		snprintf(more, sizeof more, a->w < 60 ? " +%zu " : " %zu more line%s ", below,
			 format_s(below));
		draw_right(a, a->h - 1, a->w - 23, 23, ROLE_DIM, more);
	}
}

bool page_move(enum action r, size_t *top, size_t count, int height)
{
	size_t h = height > 1 ? (size_t)height : 1, most = count > h ? count - h : 0, step;
	bool up = r == ACT_TEXT_UP || r == ACT_TEXT_PAGE_UP || r == ACT_TEXT_HALF_UP ||
		  r == ACT_TEXT_FIRST;

	switch (r) {
	case ACT_TEXT_UP:
	case ACT_TEXT_DOWN: step = 1; break;
	case ACT_TEXT_PAGE_UP:
	case ACT_TEXT_PAGE_DOWN: step = h > 1 ? h - 1 : 1; break;
	case ACT_TEXT_HALF_UP:
	case ACT_TEXT_HALF_DOWN: step = (h + 1) / 2; break;
	case ACT_TEXT_FIRST:
	case ACT_TEXT_LAST: step = count; break;
	default: return false;
	}
	if (up)
		*top = *top > step ? *top - step : 0;
	else
		*top = *top + step < most ? *top + step : most;
	return true;
}

unsigned page_action(struct view *v, enum action r)
{
	struct page *p = (struct page *)v;

	return page_move(r, &p->top, p->count, p->height) ? VIEW_DRAW : VIEW_IGNORED;
}

long page_search(struct view *v, const char *text, size_t *pending)
{
	struct page *p = (struct page *)v;
	long hits = 0;

	*pending = 0;
	snprintf(p->search, sizeof p->search, "%s", text);
	for (size_t i = 0; i < p->count; i++)
		hits += hit(p, i);
	return hits;
}

unsigned page_next_hit(struct view *v, enum hit which)
{
	struct page *p = (struct page *)v;

	for (size_t n = 1; n <= p->count; n++) {
		size_t i = (p->top + (which == HIT_PREVIOUS ? p->count - n : n)) % p->count;
		if (hit(p, i)) {
			p->top = i;
			break;
		}
	}
	return VIEW_DRAW;
}
