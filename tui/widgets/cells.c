/* SPDX-License-Identifier: MIT */
#include "widgets/cells.h"

#include "base/name.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

static const char *prefix = "";
static uint64_t percent_of, window;
static int wider_held, wider_in_all;

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
	wider_held = wider_for(held);
	wider_in_all = wider_for(in_all);
}

int cells_wider(enum kind k)
{
	switch (k) {
	case KIND_BYTES:
	case KIND_LIVE:
	case KIND_NET:
	case KIND_BYTES_RATE: return wider_held;
	case KIND_ALLOCATED: return wider_in_all;
	default: return 0;
	}
}

void cells_percent_of(uint64_t all)
{
	percent_of = all;
}

void cells_rates_over(uint64_t window_ns)
{
	window = window_ns;
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

/* In K, M, G where the current units do not fit. */
static void bytes_cell(struct cell c, uint64_t bytes)
{
	char text[32];

	if (!fits(c, text_bytes(text, bytes)))
		format_bytes(text, bytes);
	right(c, bytes ? ROLE_NUMBER : ROLE_DIM, text);
}

static void live_cell(struct cell c, uint64_t bytes)
{
	double percent = percent_of ? 100.0 * (double)bytes / (double)percent_of : 0;
	char text[32];

	if (!percent_of || !bytes) {
		bytes_cell(c, bytes);
		return;
	}
	snprintf(text, sizeof text, percent < 0.05 ? "<0.1%%" : "%.1f%%", percent);
	right(c, ROLE_NUMBER, text);
}

static enum role role_of(int64_t n)
{
	return n > 0 ? ROLE_PLUS : n < 0 ? ROLE_MINUS : ROLE_DIM;
}

/* Signed, red or green. */
static void net_cell(struct cell c, int64_t bytes)
{
	char text[32];

	if (!fits(c, text_bytes_signed(text, bytes)))
		format_signed(text, bytes);
	right(c, role_of(bytes), text);
}

/* 812,004 or 812.0k as it fits. */
static void count_cell(struct cell c, uint64_t n)
{
	char text[32];

	format_count(text, n);
	if (text_width(text) > c.w)
		text_short(text, (double)n);
	right(c, n ? ROLE_NUMBER : ROLE_DIM, text);
}

static double per_second(int64_t n)
{
	return window ? (double)n * 1e9 / (double)window : 0;
}

static void calls_cell(struct cell c, double calls)
{
	char text[32];

	right(c, calls > 0 ? ROLE_ALLOC : ROLE_DIM, text_short(text, calls));
}

/* Whole percent; 0 and 100 only for none and all of it. */
static void part_cell(struct cell c, int64_t part)
{
	double percent = 100.0 * (double)part / CELL_WHOLE;
	char text[32];

	if (part && percent < 0.5)
		snprintf(text, sizeof text, "<1");
	else if (part < CELL_WHOLE && percent >= 99.5)
		snprintf(text, sizeof text, ">99");
	else
		snprintf(text, sizeof text, "%.0f", percent);
	draw_right(c.a, c.y, c.x, c.w, ROLE_DIM, text);
}

void cell_number(struct cell c, enum kind kind, int64_t n, bool quiet)
{
	char text[32];

	switch (kind) {
	case KIND_BYTES:
	case KIND_ALLOCATED: bytes_cell(c, (uint64_t)n); return;
	case KIND_LIVE: live_cell(c, (uint64_t)n); return;
	case KIND_NET: net_cell(c, n); return;
	case KIND_BYTES_RATE: bytes_cell(c, (uint64_t)per_second(n)); return;
	case KIND_CALLS: calls_cell(c, per_second(n)); return;
	case KIND_COUNT: count_cell(c, (uint64_t)n); return;
	case KIND_COUNT_NET: right(c, role_of(n), text_short_signed(text, n)); return;
	case KIND_PART: part_cell(c, n); return;
	case KIND_OWN: return;
	case KIND_AGE: text_span(text, (uint64_t)n); break;
	case KIND_SPAN: text_span_short(text, (uint64_t)n); break;
	case KIND_CLOCK: text_clock(text, (uint64_t)n); break;
	case KIND_ID: snprintf(text, sizeof text, "%lld", (long long)n); break;
	}
	draw_right(c.a, c.y, c.x, c.w, quiet ? ROLE_DIM : ROLE_NUMBER, text);
}

void column_draw(const struct column *k, const struct line *l, struct cell c)
{
	if (k->own) {
		k->own(l, c);
		return;
	}
	struct value v = k->value(l);
	c.estimate = v.estimate;
	switch (v.known) {
	case KNOWN: cell_number(c, k->kind, v.n, k->quiet); break;
	case KNOWN_NONE: break;
	case KNOWN_NOT: draw_right(c.a, c.y, c.x, c.w, ROLE_DIM, "-"); break;
	case KNOWN_SOON:
		draw_right(c.a, c.y, c.x, c.w, ROLE_DIM, text_glyph(GLYPH_ELLIPSIS));
		break;
	}
}

bool column_finds(const struct column *k, const struct line *l, const char *text)
{
	const char *has;
	char id[32];

	for (size_t i = 0; k->text && (has = k->text(l, i)); i++)
		if (strcasestr(has, text))
			return true;
	if (k->kind != KIND_ID)
		return false;
	struct value v = k->value(l);
	snprintf(id, sizeof id, "%lld", (long long)v.n);
	return v.known == KNOWN && !strcmp(id, text);
}

int column_compare(const struct column *k, const struct line *a, const struct line *b)
{
	if (k->text)
		return strcmp(k->text(a, 0), k->text(b, 0));
	struct value x = k->value(a), y = k->value(b);
	int64_t nx = x.known == KNOWN ? x.n : 0, ny = y.known == KNOWN ? y.n : 0;
	return nx < ny ? 1 : nx > ny ? -1 : 0;
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
	char text[512];

	if (!file)
		return;
	snprintf(text, sizeof text, line ? "%.400s:%u" : "%.400s", slash ? slash + 1 : file, line);
	draw_clip(c.a, c.y, c.x, c.w, ROLE_PLACE, CLIP_MIDDLE, text);
}

void cell_source_line(struct cell c, char letter, const char *file, uint32_t line,
		      const char *module)
{
	char text[2] = { letter ? letter : ' ', 0 };
	struct cell rest = { c.a, c.y, c.x + 2, c.w - 2, false };

	draw_clip(c.a, c.y, c.x, c.w, draw_owner_role(letter), CLIP_END, text);
	if (c.w > 2)
		cell_file(rest, file ? file : module, file ? line : 0);
}

void cell_shape(struct cell c, const struct site *s)
{
	static const struct {
		enum role role;
		enum glyph glyph;
	} looks[] = {
		[SHAPE_STEADY] = { ROLE_BAD, GLYPH_GROWS },
		[SHAPE_SLOWING] = { ROLE_WARNING, GLYPH_SLOWING },
		[SHAPE_STEP] = { ROLE_WARNING, GLYPH_STEP },
		[SHAPE_SAWTOOTH] = { ROLE_NORMAL, GLYPH_SAWTOOTH },
		[SHAPE_FLAT] = { ROLE_DIM, GLYPH_FLAT },
		[SHAPE_YOUNG] = { ROLE_DIM, GLYPH_DOT },
		[SHAPE_SHRINKING] = { ROLE_GOOD, GLYPH_DOWN },
	};
	char text[32];
	bool expected = s->flags & ROW_EXPECTED;

	snprintf(text, sizeof text, "%s %s", text_glyph(looks[s->shape].glyph),
		 expected ? "expected" : report_shape(s->shape));
	cell_text(c, expected ? ROLE_DIM : looks[s->shape].role, text);
}

#define CALLER_GAP 3 /* " < " */

/* A name that waits for the others, with copies of its texts. */
struct waiting {
	struct cell c;
	struct area a;
	struct cell_name n;
	int overlay; /* of its row: the selection's */
};

static struct {
	struct waiting *list;
	size_t count, room;
	bool on;
} waiting;

/* The caller is shown where its least fits behind the whole name. */
static bool with_caller(const struct waiting *w)
{
	int wanted = text_width(w->n.caller), least = w->n.caller_least;

	return *w->n.caller &&
	       text_width(w->n.name) + CALLER_GAP + (wanted < least ? wanted : least) <= w->c.w;
}

static int name_columns(const struct waiting *w)
{
	int wanted = text_width(w->n.caller), least = w->n.caller_least;

	if (with_caller(w))
		return w->c.w - CALLER_GAP - (wanted < least ? wanted : least);
	return w->c.w - text_width(w->n.tail);
}

static void draw_name(const struct waiting *w, const char *text)
{
	struct cell c = w->c;

	c.a = &w->a;
	draw_overlay(w->overlay);
	int used = draw_clip(c.a, c.y, c.x, c.w, w->n.role, CLIP_END, text);
	if (with_caller(w)) {
		draw_clip(c.a, c.y, c.x + used, CALLER_GAP, ROLE_DIM, CLIP_END, " < ");
		used += CALLER_GAP;
		draw_clip(c.a, c.y, c.x + used, c.w - used, ROLE_PLACE, CLIP_MIDDLE, w->n.caller);
	}
	draw_clip(c.a, c.y, c.x + used, c.w - used, ROLE_DIM, CLIP_END, w->n.tail);
}

void names_begin(void)
{
	waiting.on = true;
}

void names_end(void)
{
	struct name_item *items = xcalloc(waiting.count + 1, sizeof *items);

	for (size_t i = 0; i < waiting.count; i++) {
		const struct waiting *w = &waiting.list[i];
		int columns = name_columns(w);

		items[i] = (struct name_item){ .name = w->n.name,
					       .full = w->n.full,
					       .columns = columns > 0 ? (size_t)columns : 0,
					       .other = w->n.other };
	}
	names_fit(items, waiting.count, text_glyph(GLYPH_ELLIPSIS));
	for (size_t i = 0; i < waiting.count; i++) {
		struct cell_name *n = &waiting.list[i].n;

		draw_name(&waiting.list[i], items[i].text);
		free((char *)n->name);
		free((char *)n->full);
		free((char *)n->caller);
		free((char *)n->tail);
	}
	draw_overlay(-1);
	names_release(items, waiting.count);
	free(items);
	waiting.count = 0;
	waiting.on = false;
}

void cell_name(struct cell c, const struct cell_name *n)
{
	GROW(waiting.list, waiting.room, waiting.count + 1);
	struct waiting *w = &waiting.list[waiting.count++];

	*w = (struct waiting){ .c = c, .a = *c.a, .n = *n, .overlay = draw_overlaid() };
	w->n.name = xstrdup(n->name);
	w->n.full = n->full ? xstrdup(n->full) : NULL;
	w->n.caller = xstrdup(n->caller ? n->caller : "");
	w->n.tail = xstrdup(n->tail ? n->tail : "");
	if (!waiting.on)
		names_end();
}
