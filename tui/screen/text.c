/* SPDX-License-Identifier: MIT */
#include "screen/text.h"

#include "base/sanitize.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <wchar.h>

#define JOINED_MAX 3 /* accents on one character; more would be drawn over the lines above */

static bool ascii;
static enum units in_use;
static const char *const unit_words[UNITS_COUNT] = { "auto", "mib", "bytes" };

static const char *const glyphs[GLYPH_COUNT][2] = {
	[GLYPH_OPEN] = { "▼", "-" },      [GLYPH_CLOSED] = { "▶", "+" },
	[GLYPH_GROWS] = { "▲", "^" },     [GLYPH_SLOWING] = { "◢", "/" },
	[GLYPH_STEP] = { "▙", "_" },      [GLYPH_SAWTOOTH] = { "~", "~" },
	[GLYPH_FLAT] = { "─", "=" },      [GLYPH_HLINE] = { "─", "-" },
	[GLYPH_VLINE] = { "│", "|" },     [GLYPH_TOP_LEFT] = { "┌", "+" },
	[GLYPH_TOP_RIGHT] = { "┐", "+" }, [GLYPH_LOW_LEFT] = { "└", "+" },
	[GLYPH_LOW_RIGHT] = { "┘", "+" }, [GLYPH_ELLIPSIS] = { "…", "~" },
	[GLYPH_DEEPER] = { "«", "<" },    [GLYPH_DOT] = { "·", "." },
	[GLYPH_DOWN] = { "▼", "v" },      [GLYPH_UP] = { "▲", "^" },
	[GLYPH_AT_LEAST] = { "≥", ">" },  [GLYPH_UNKNOWN] = { "░", ":" },
	[GLYPH_HIT] = { "*", "!" }, /* a sparkline in ASCII has the other */
};

void text_set_ascii(bool on)
{
	ascii = on;
}

bool text_ascii(void)
{
	return ascii;
}

const char *text_glyph(enum glyph g)
{
	return glyphs[g][ascii];
}

const char *text_eighth(unsigned n)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { " ", "_", "_", ".", ".", "-", "=", "*", "#" };

	return (ascii ? plain : blocks)[n > 8 ? 8 : n];
}

char *text_bar(char *out, double part, double whole, int width)
{
	const char *cell = text_eighth(8);
	size_t at = 0, len = strlen(cell);
	double filled = whole > 0 ? part * width / whole + 0.5 : 0;

	for (int i = 1; i <= width && i <= filled && at + len < TEXT_MAX; i++, at += len)
		memcpy(out + at, cell, len);
	out[at] = 0;
	return out;
}

/* Columns of a character: -1 = shown as '?', 0 = joins the one before, -2 = dropped. */
static int columns(int32_t cp)
{
	if (cp < 0)
		return cp == FOREIGN_HIDDEN ? -2 : -1;
	if (cp < 0x7f)
		return 1;
	if (ascii)
		return -1;
	int w = wcwidth((wchar_t)cp);
	return w < 0 ? -1 : w;
}

int text_width(const char *s)
{
	int width = 0;

	while (*s) {
		int32_t cp;
		s += sanitize_char(s, &cp);
		int w = columns(cp);
		width += w == -1 ? 1 : w == -2 ? 0 : w;
	}
	return width;
}

/* Appends cleaned text up to `width` columns; stops before a wide character that does not fit. */
static int take(char *out, size_t *at, const char *s, int width, int skip)
{
	int used = 0, joined = JOINED_MAX; /* a joiner needs a character before it */

	while (*s) {
		int32_t cp;
		size_t len = sanitize_char(s, &cp);
		int w = columns(cp), cols = w == -1 ? 1 : w == -2 ? 0 : w;
		const char *from = s;
		s += len;
		if (w == -2)
			continue;
		if (skip > 0) {
			skip -= cols;
			continue;
		}
		joined = w ? 0 : joined + 1;
		if (joined > JOINED_MAX)
			continue;
		if (used + cols > width || *at + len >= TEXT_MAX)
			break;
		if (w == -1 || cp == '\t')
			out[(*at)++] = cp == '\t' ? ' ' : '?';
		else {
			memcpy(out + *at, from, len);
			*at += len;
		}
		used += cols;
	}
	out[*at] = 0;
	return used;
}

int text_clip(char *out, const char *s, int width, enum clip how)
{
	size_t at = 0;
	int whole = s ? text_width(s) : 0;

	out[0] = 0;
	if (width <= 0 || whole == 0)
		return 0;
	if (whole <= width)
		return take(out, &at, s, width, 0);
	if (width < 4) /* letters say more than an ellipsis */
		return take(out, &at, s, width, 0);
	int keep = width - 1, front = how == CLIP_END     ? keep
				      : how == CLIP_START ? 0
							  : (keep + 1) / 2;
	int used = take(out, &at, s, front, 0);
	used += take(out, &at, text_glyph(GLYPH_ELLIPSIS), 1, 0);
	if (keep > front)
		used += take(out, &at, s, keep - front, whole - (keep - front));
	return used;
}

void text_set_units(enum units u)
{
	in_use = u;
}

enum units text_units(void)
{
	return in_use;
}

const char *text_units_word(enum units u)
{
	return unit_words[u];
}

bool text_units_named(const char *word, enum units *u)
{
	for (int i = 0; i < UNITS_COUNT; i++)
		if (!strcmp(word, unit_words[i])) {
			*u = (enum units)i;
			return true;
		}
	return false;
}

/* 0.0M is something, 0 is nothing. */
char *text_bytes(char *out, uint64_t bytes)
{
	if (in_use == UNITS_BYTES)
		format_count(out, bytes);
	else if (in_use == UNITS_AUTO || !bytes)
		format_bytes(out, bytes);
	else
		snprintf(out, 32, "%.1fM", (double)bytes / (1 << 20));
	return out;
}

/* out has the digits of what has no sign. */
static char *with_sign(char *out, bool negative)
{
	memmove(out + 1, out, 30);
	out[0] = negative ? '-' : '+';
	out[31] = 0;
	return out;
}

char *text_bytes_signed(char *out, int64_t bytes)
{
	text_bytes(out, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
	return bytes ? with_sign(out, bytes < 0) : out;
}

/* Millions stay in k as far as they fit: M would look like bytes, m like a thousandth. */
char *text_short(char *out, double n)
{
	static const char units[] = " kmgtpe";
	int i = 0;

	if (n >= 1e6 && n < 1e9) {
		snprintf(out, 32, n < 99999500 ? "%.0fk" : "%.1fg",
			 n < 99999500 ? n / 1000 : n / 1e9);
		return out;
	}
	for (n = n < 0 ? 0 : n; n >= 1000 - 0.05 && units[i + 1]; i++)
		n /= 1000;
	bool finer = i || (n < 9.95 && fabs(n - rint(n)) >= 0.05);
	snprintf(out, 32, i ? "%.1f%c" : finer ? "%.1f" : "%.0f", n, units[i]);
	return out;
}

char *text_short_signed(char *out, int64_t n)
{
	text_short(out, n < 0 ? -(double)n : (double)n);
	return n ? with_sign(out, n < 0) : out;
}

char *text_blocks(char out[TEXT_BLOCKS], uint64_t n)
{
	format_count(out, n);
	return strcat(out, n == 1 ? " block" : " blocks");
}

char *text_clock(char *out, uint64_t ns)
{
	uint64_t s = ns / 1000000000;

	snprintf(out, 32, "%" PRIu64 ":%02u:%02u", s / 3600, (unsigned)(s / 60 % 60),
		 (unsigned)(s % 60));
	return out;
}

char *text_clock_ms(char *out, uint64_t ns)
{
	size_t n = strlen(text_clock(out, ns));

	snprintf(out + n, 32 - n, ".%03u", (unsigned)(ns / 1000000 % 1000));
	return out;
}

char *text_ago(char *out, uint64_t ns)
{
	if (ns >= 10000000000u)
		return text_span(out, ns);
	snprintf(out, 32, "%.3f s", (double)ns / 1e9);
	return out;
}

char *text_span(char *out, uint64_t ns)
{
	double s = (double)ns / 1e9;

	if (s < 120)
		snprintf(out, 32, "%.0f s", floor(s));
	else if (s < 7200)
		snprintf(out, 32, "%.0f min", floor(s / 60));
	else
		snprintf(out, 32, "%.1f h", s / 3600);
	return out;
}

char *text_span_short(char *out, uint64_t ns)
{
	double us = (double)ns / 1e3, ms = us / 1e3, s = ms / 1e3;

	if (us < 999.5)
		snprintf(out, 32, "%.0f us", us < 1 ? 1 : us);
	else if (ms < 999.5)
		snprintf(out, 32, ms < 9.95 ? "%.1f ms" : "%.0f ms", ms);
	else if (s < 9.95)
		snprintf(out, 32, "%.1f s", s);
	else
		return text_span(out, ns);
	return out;
}
