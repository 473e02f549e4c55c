/* SPDX-License-Identifier: MIT */
#include "widgets/cells.h"

#include <string.h>

#define CALLER_MIN 8 /* columns; less of a name could be another one's */

static const char *prefix = "";
static uint64_t percent_of;
static int wider[SIZE_KINDS];

const char *cells_prefix(const char *now)
{
	const char *was = prefix;

	prefix = now;
	return was;
}

/* K, M, G take seven at most: "1023.9M". */
static int wider_for(uint64_t bytes)
{
	char text[32];
	int more = text_width(text_bytes(text, bytes)) - 7;

	return more > 0 ? more : 0;
}

void cells_largest(uint64_t held, uint64_t in_all)
{
	wider[SIZE_HELD] = wider_for(held);
	wider[SIZE_IN_ALL] = wider_for(in_all);
}

int cells_wider(enum size_kind k)
{
	return wider[k];
}

void cell_text(struct cell c, enum role r, const char *s)
{
	draw_clip(c.a, c.y, c.x, c.w, r, CLIP_END, s);
}

static const char *sign(struct cell c, const char *s)
{
	return strcmp(s, "0") == 0 ? "" : c.estimate ? "~" : prefix;
}

static void right(struct cell c, enum role r, const char *s)
{
	char text[48];

	snprintf(text, sizeof text, "%s%s", sign(c, s), s);
	draw_right(c.a, c.y, c.x, c.w, r, text);
}

static bool fits(struct cell c, const char *s)
{
	return text_width(sign(c, s)) + text_width(s) <= c.w;
}

void cell_bytes(struct cell c, uint64_t bytes)
{
	char text[32];

	if (!fits(c, text_bytes(text, bytes)))
		format_bytes(text, bytes);
	right(c, bytes ? ROLE_NUMBER : ROLE_DIM, text);
}

void cells_percent_of(uint64_t all)
{
	percent_of = all;
}

void cell_live(struct cell c, uint64_t bytes)
{
	double percent = percent_of ? 100.0 * (double)bytes / (double)percent_of : 0;
	char text[32];

	if (!percent_of || !bytes) {
		cell_bytes(c, bytes);
		return;
	}
	snprintf(text, sizeof text, percent < 0.05 ? "<0.1%%" : "%.1f%%", percent);
	right(c, ROLE_NUMBER, text);
}

void cell_part(struct cell c, uint64_t part, uint64_t all)
{
	double percent = all ? 100.0 * (double)part / (double)all : 0;
	char text[32];

	if (part && percent < 0.5)
		snprintf(text, sizeof text, "<1");
	else if (part < all && percent >= 99.5)
		snprintf(text, sizeof text, ">99");
	else
		snprintf(text, sizeof text, "%.0f", percent);
	draw_right(c.a, c.y, c.x, c.w, ROLE_DIM, text);
}

static enum role role_of(int64_t n)
{
	return n > 0 ? ROLE_PLUS : n < 0 ? ROLE_MINUS : ROLE_DIM;
}

void cell_net(struct cell c, int64_t bytes)
{
	char text[32];

	if (!fits(c, text_bytes_signed(text, bytes)))
		format_signed(text, bytes);
	right(c, role_of(bytes), text);
}

void cell_count(struct cell c, uint64_t n)
{
	char text[32];

	format_count(text, n);
	if (text_width(text) > c.w)
		text_short(text, (double)n);
	right(c, n ? ROLE_NUMBER : ROLE_DIM, text);
}

void cell_count_net(struct cell c, int64_t n)
{
	char text[32];

	right(c, role_of(n), text_short_signed(text, n));
}

void cell_rate(struct cell c, double per_second)
{
	char text[32];

	right(c, per_second > 0 ? ROLE_ALLOC : ROLE_DIM, text_short(text, per_second));
}

void cell_unknown(struct cell c)
{
	draw_right(c.a, c.y, c.x, c.w, ROLE_DIM, "-");
}

void cell_age(struct cell c, const struct age *a, bool oldest)
{
	uint64_t seconds = oldest ? a->oldest_s : a->median_s;
	char text[32];

	if (a->known)
		draw_right(c.a, c.y, c.x, c.w, ROLE_NUMBER, text_span(text, seconds * 1000000000));
}

void cell_life(struct cell c, const struct site *s)
{
	static const char *const signs[] = {
		[LIFE_BELOW] = "< ", [LIFE_ABOUT] = "", [LIFE_ABOVE] = "> "
	};
	char span[32], text[48];

	if (s->life == LIFE_UNKNOWN)
		return;
	snprintf(text, sizeof text, "%s%s", signs[s->life], text_span_short(span, s->life_ns));
	draw_right(c.a, c.y, c.x, c.w, s->life == LIFE_ABOVE ? ROLE_DIM : ROLE_NUMBER, text);
}

char cells_letter(const struct owner *o)
{
	return !o || (o->letter == '?' && o->module != OWNER_UNKNOWN) ? ' ' : o->letter;
}

void cell_owner(struct cell c, char letter, const char *name)
{
	char text[2] = { letter ? letter : ' ', 0 };
	enum role r = draw_owner_role(letter);

	draw_clip(c.a, c.y, c.x, c.w, r, CLIP_END, text);
	if (c.w > 2)
		draw_clip(c.a, c.y, c.x + 2, c.w - 2, r, CLIP_MIDDLE, name);
}

void cell_file(struct cell c, const char *file, uint32_t line)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	char place[512];

	if (!file)
		return;
	snprintf(place, sizeof place, line ? "%.400s:%u" : "%.400s", slash ? slash + 1 : file,
		 line);
	draw_clip(c.a, c.y, c.x, c.w, ROLE_PLACE, CLIP_MIDDLE, place);
}

void cell_place(struct cell c, char letter, const char *file, uint32_t line, const char *module)
{
	char text[2] = { letter ? letter : ' ', 0 };
	struct cell place = { c.a, c.y, c.x + 2, c.w - 2, false };

	draw_clip(c.a, c.y, c.x, c.w, draw_owner_role(letter), CLIP_END, text);
	if (c.w > 2)
		cell_file(place, file ? file : module, file ? line : 0);
}

void cell_shape(struct cell c, const struct site *s)
{
	static const struct {
		enum role role;
		enum glyph glyph;
		const char *name;
	} looks[] = {
		[SHAPE_STEADY] = { ROLE_BAD, GLYPH_GROWS, "steady" },
		[SHAPE_SLOWING] = { ROLE_WARNING, GLYPH_SLOWING, "slowing" },
		[SHAPE_STEP] = { ROLE_WARNING, GLYPH_STEP, "step" },
		[SHAPE_SAWTOOTH] = { ROLE_NORMAL, GLYPH_SAWTOOTH, "saw-tooth" },
		[SHAPE_FLAT] = { ROLE_DIM, GLYPH_FLAT, "flat" },
		[SHAPE_YOUNG] = { ROLE_DIM, GLYPH_DOT, "too soon" },
		[SHAPE_SHRINKING] = { ROLE_GOOD, GLYPH_DOWN, "shrinking" },
	};
	char text[32];
	bool expected = s->flags & ROW_EXPECTED;

	snprintf(text, sizeof text, "%s %s", text_glyph(looks[s->shape].glyph),
		 expected ? "expected" : looks[s->shape].name);
	cell_text(c, expected ? ROLE_DIM : looks[s->shape].role, text);
}

void cell_site(struct cell c, const struct site *s)
{
	const char *name = s->name ? s->name : "?";
	int wide = text_width(name), room = c.w - wide - 3,
	    caller = s->caller ? text_width(s->caller) : 0;

	if (!caller || (room < caller && room < CALLER_MIN)) {
		draw_clip(c.a, c.y, c.x, c.w, ROLE_NAME, CLIP_MIDDLE, name);
		return;
	}
	draw_clip(c.a, c.y, c.x, wide, ROLE_NAME, CLIP_END, name);
	draw_clip(c.a, c.y, c.x + wide, 3, ROLE_DIM, CLIP_END, " < ");
	draw_clip(c.a, c.y, c.x + wide + 3, room, ROLE_PLACE, CLIP_MIDDLE, s->caller);
}
