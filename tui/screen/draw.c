/* SPDX-License-Identifier: MIT
 *
 * draw.c - see screen/draw.h. A style's two colours become a curses pair at first use (alloc_pair
 * keeps them); colours are first fitted to what the terminal has: true colour, 256, 8 or none.
 */
#include "screen/draw.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <ncurses.h>

static int line_role = -1;
static int colours; /* 0 = none */

void draw_start(void)
{
	const char *no = getenv("NO_COLOR");

	colours = 0;
	if (!(no && *no) && has_colors() && start_color() == OK) {
		use_default_colors();
		colours = COLORS;
	}
}

bool theme_has_colour(void)
{
	return colours >= 8;
}

static int cube(int v)
{
	return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40;
}

/* xterm's 256-colour palette, for terminals without a palette beyond the first eight colours. */
static int rgb_of(int c)
{
	static const int bright[] = { 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
				      0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff };
	static const int level[] = { 0, 0x5f, 0x87, 0xaf, 0xd7, 0xff };

	if (c < 8)
		return c;
	if (c < 16)
		return bright[c - 8];
	if (c >= 232)
		return (8 + 10 * (c - 232)) * 0x010101;
	c -= 16;
	return level[c / 36] << 16 | level[c / 6 % 6] << 8 | level[c % 6];
}

/* A colour that this terminal has, near c. */
static int fit(int c)
{
	static const int basic_of_bright[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	if (c < 0)
		return -1;
	if (c & COLOUR_RGB) {
		int r = c >> 16 & 0xff, g = c >> 8 & 0xff, b = c & 0xff;
		if (colours >= COLOUR_RGB)
			return c & 0xffffff;
		if (colours >= 256) {
			if (abs(r - g) < 10 && abs(g - b) < 10 && r > 8 && r < 238)
				return 232 + (r - 8) / 10;
			return 16 + 36 * cube(r) + 6 * cube(g) + cube(b);
		}
		int level = r > g ? (r > b ? r : b) : (g > b ? g : b);
		return level < 64 ? 0
				  : (r > level / 2) | (g > level / 2) << 1 | (b > level / 2) << 2;
	}
	if (colours >= COLOUR_RGB)
		return rgb_of(c);
	if (c < colours)
		return c;
	if (c < 16)
		return basic_of_bright[c & 7];
	if (c >= 232)
		return c < 244 ? 0 : 7;
	c -= 16;
	return (c / 36 > 2) | (c / 6 % 6 > 2) << 1 | (c % 6 > 2) << 2;
}

static attr_t attributes(unsigned attrs)
{
	return (attrs & STYLE_BOLD ? A_BOLD : 0) | (attrs & STYLE_DIM ? A_DIM : 0) |
	       (attrs & STYLE_UNDERLINE ? A_UNDERLINE : 0) |
	       (attrs & STYLE_REVERSE ? A_REVERSE : 0);
}

static void set_role(enum role r, bool band)
{
	const struct theme *t = theme_current();
	struct style s = t->styles[r];
	int pair = 0;

	if (s.bg == COLOUR_DEFAULT)
		s.bg = t->styles[ROLE_NORMAL].bg;
	if (s.fg == COLOUR_DEFAULT)
		s.fg = t->styles[ROLE_NORMAL].fg;
	if (line_role >= 0) {
		const struct style *o = &t->styles[line_role];
		if (o->bg != COLOUR_DEFAULT)
			s.bg = o->bg;
		if (o->fg != COLOUR_DEFAULT)
			s.fg = o->fg;
		s.attrs = (s.attrs & ~(unsigned)STYLE_DIM) | o->attrs;
	}
	if (colours)
		pair = alloc_pair(fit(s.fg), fit(s.bg));
	attr_t attrs = attributes(s.attrs) ^ (band ? A_REVERSE : 0);
	attr_set(attrs, 0, pair > 0 ? &pair : NULL);
	if (pair <= 0)
		attr_set(attrs, 0, NULL);
}

void draw_clear(void)
{
	line_role = -1;
	set_role(ROLE_NORMAL, false);
	attr_t attrs;
	short unused;
	int pair = 0;
	attr_get(&attrs, &unused, &pair);
	cchar_t blank;
	setcchar(&blank, L" ", attrs, 0, &pair);
	bkgrndset(&blank);
	erase();
}

void draw_overlay(int role)
{
	line_role = role;
}

int draw_overlaid(void)
{
	return line_role;
}

static int put(const struct area *a, int y, int x, int width, enum role r, enum clip how,
	       const char *s, bool band)
{
	char out[TEXT_MAX];

	if (y < 0 || y >= a->h || x < 0 || x >= a->w || !s)
		return 0;
	if (width < 0 || width > a->w - x)
		width = a->w - x;
	int used = text_clip(out, s, width, how);
	if (used > 0) {
		set_role(r, band);
		mvaddstr(a->y + y, a->x + x, out);
	}
	return used;
}

int draw_clip(const struct area *a, int y, int x, int width, enum role r, enum clip how,
	      const char *s)
{
	return put(a, y, x, width, r, how, s, false);
}

int draw_text(const struct area *a, int y, int x, enum role r, const char *s)
{
	return put(a, y, x, -1, r, CLIP_END, s, false);
}

int draw_band(const struct area *a, int y, int x, enum role r, const char *s)
{
	return put(a, y, x, -1, r, CLIP_END, s, true);
}

int draw_printf(const struct area *a, int y, int x, enum role r, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	return put(a, y, x, -1, r, CLIP_END, text, false);
}

size_t draw_words_fit(const char *s, int width)
{
	size_t len = strlen(s), fits = 0;
	char line[TEXT_MAX];

	if (text_width(s) <= width)
		return len;
	for (size_t at = strcspn(s, " "); at < len && at < sizeof line;
	     at += 1 + strcspn(s + at + 1, " ")) {
		snprintf(line, sizeof line, "%.*s", (int)at, s);
		if (text_width(line) > width)
			break;
		fits = at;
	}
	return fits ? fits : len;
}

void draw_words(const struct area *a, int y, int x, enum role r, const char *s)
{
	char line[TEXT_MAX];

	for (; *s && y < a->h; y++) {
		size_t len = draw_words_fit(s, a->w - x);
		snprintf(line, sizeof line, "%.*s", (int)len, s);
		draw_text(a, y, x, r, line);
		s += len + strspn(s + len, " ");
	}
}

void draw_right(const struct area *a, int y, int x, int width, enum role r, const char *s)
{
	int wide = text_width(s);

	if (wide < width)
		x += width - wide;
	put(a, y, x, wide < width ? wide : width, r, CLIP_END, s, false);
}

void draw_fill(const struct area *a, int y, int x, int width, enum role r)
{
	if (y < 0 || y >= a->h || x < 0)
		return;
	if (width < 0 || width > a->w - x)
		width = a->w - x;
	set_role(r, false);
	if (width > 0)
		mvhline(a->y + y, a->x + x, ' ', width);
}

static void line_of(const struct area *a, int y, enum role r, const char *left, const char *right)
{
	for (int x = 0; x < a->w; x++)
		draw_text(a, y, x, r,
			  x == 0          ? left
			  : x == a->w - 1 ? right
					  : text_glyph(GLYPH_HLINE));
}

void draw_rule(const struct area *a, int y, enum role r, const char *title)
{
	line_of(a, y, r, text_glyph(GLYPH_HLINE), text_glyph(GLYPH_HLINE));
	if (title && *title) {
		int used = draw_clip(a, y, 2, a->w - 4, ROLE_TITLE, CLIP_END, title);
		draw_text(a, y, 1, r, " ");
		draw_text(a, y, 2 + used, r, " ");
	}
}

struct area draw_box(const struct area *a, const char *title, bool focus)
{
	enum role r = focus ? ROLE_BORDER_FOCUS : ROLE_BORDER;

	line_of(a, 0, r, text_glyph(GLYPH_TOP_LEFT), text_glyph(GLYPH_TOP_RIGHT));
	for (int y = 1; y < a->h - 1; y++) {
		draw_text(a, y, 0, r, text_glyph(GLYPH_VLINE));
		draw_text(a, y, a->w - 1, r, text_glyph(GLYPH_VLINE));
	}
	line_of(a, a->h - 1, r, text_glyph(GLYPH_LOW_LEFT), text_glyph(GLYPH_LOW_RIGHT));
	if (title && *title) {
		draw_text(a, 0, 1, r, focus ? ">" : " ");
		int used = draw_clip(a, 0, 2, a->w - 4, focus ? ROLE_BORDER_FOCUS : ROLE_TITLE,
				     CLIP_END, title);
		draw_text(a, 0, 2 + used, r, " ");
	}
	return area_sub(a, 1, 1, a->h - 2, a->w - 2);
}

enum role draw_owner_role(char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return (enum role)(ROLE_OWNER0 + (letter - 'A') % OWNER_ROLES);
	if (letter >= 'a' && letter <= 'z')
		return (enum role)(ROLE_OWNER0 + (letter - 'a') % OWNER_ROLES);
	return ROLE_DIM;
}

struct area area_sub(const struct area *a, int y, int x, int h, int w)
{
	struct area s = { a->y + y, a->x + x, h, w };

	if (h < 0 || y + h > a->h)
		s.h = a->h - y > 0 ? a->h - y : 0;
	if (w < 0 || x + w > a->w)
		s.w = a->w - x > 0 ? a->w - x : 0;
	return s;
}
