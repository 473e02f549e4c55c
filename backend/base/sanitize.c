/* SPDX-License-Identifier: MIT
 *
 * sanitize.c - see base/sanitize.h. Decodes UTF-8 itself instead of by mbrtowc(): an invalid byte
 * must cost one '?', never the rest of the line, and never depend on a locale or a conversion
 * state.
 */
#include "base/sanitize.h"

#include <string.h>

size_t sanitize_decode(const char *s, int32_t *cp)
{
	const unsigned char *p = (const unsigned char *)s;
	static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = p[0] < 0x80             ? 1
		     : (p[0] & 0xe0) == 0xc0 ? 2
		     : (p[0] & 0xf0) == 0xe0 ? 3
		     : (p[0] & 0xf8) == 0xf0 ? 4
					     : 0;

	*cp = FOREIGN_BAD;
	if (len == 0)
		return 1;
	int32_t v = len == 1 ? p[0] : p[0] & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		v = v << 6 | (p[i] & 0x3f);
	}
	if (v < least[len] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 1;
	*cp = v;
	return len;
}

struct range {
	int32_t from, to;
};

static bool in(int32_t cp, const struct range *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cp >= r[i].from && cp <= r[i].to)
			return true;
	return false;
}

size_t sanitize_char(const char *s, int32_t *cp)
{
	/* Directions, zero width, fillers that are blank, variation selectors, tags, and the skin
	 * tones that some terminals draw into the character before: all change what stands beside
	 * them. */
	static const struct range hidden[] = {
		{ 0xad, 0xad },       { 0x34f, 0x34f },     { 0x61c, 0x61c },
		{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
		{ 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x1d173, 0x1d17a },
		{ 0x1f3fb, 0x1f3ff }, { 0xe0000, 0xe0fff },
	};
	/* Controls, what is no character; regional letters, of which two are a flag or not, as the
	 * terminal likes. */
	static const struct range bad[] = {
		{ 0, 8 }, { 10, 31 }, { 0x7f, 0x9f }, { 0xfdd0, 0xfdef }, { 0x1f1e6, 0x1f1ff },
	};
	size_t len = sanitize_decode(s, cp);

	if (*cp >= ' ' && *cp < 0x7f)
		return len;
	if (*cp >= 0 && in(*cp, hidden, sizeof hidden / sizeof hidden[0]))
		*cp = FOREIGN_HIDDEN;
	else if (*cp >= 0 && (in(*cp, bad, sizeof bad / sizeof bad[0]) || (*cp & 0xfffe) == 0xfffe))
		*cp = FOREIGN_BAD;
	return len;
}

unsigned sanitize_columns(int32_t cp)
{
	static const struct range joined[] = {
		{ 0x300, 0x36f },   { 0x483, 0x489 },   { 0x591, 0x5bd },   { 0x610, 0x61a },
		{ 0x64b, 0x65f },   { 0x93c, 0x93c },   { 0x941, 0x948 },   { 0xe34, 0xe3a },
		{ 0xe47, 0xe4e },   { 0x1ab0, 0x1ace }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20f0 },
		{ 0x302a, 0x302d }, { 0x3099, 0x309a }, { 0xfe20, 0xfe2f },
	};
	/* East Asian and emoji, whole blocks of them. */
	static const struct range wide[] = {
		{ 0x1100, 0x115f },   { 0x231a, 0x23ff },   { 0x25fd, 0x27bf },
		{ 0x2b1b, 0x2b55 },   { 0x2e80, 0x303f },   { 0x3041, 0x4dff },
		{ 0x4e00, 0xa4cf },   { 0xa960, 0xa97c },   { 0xac00, 0xd7a3 },
		{ 0xf900, 0xfaff },   { 0xfe10, 0xfe6f },   { 0xff00, 0xff60 },
		{ 0xffe0, 0xffe6 },   { 0x16fe0, 0x1b2ff }, { 0x1d300, 0x1d376 },
		{ 0x1f000, 0x1faff }, { 0x20000, 0x3fffd },
	};

	if (cp < 0x300)
		return 1;
	if (in(cp, joined, sizeof joined / sizeof joined[0]))
		return 0;
	return in(cp, wide, sizeof wide / sizeof wide[0]) ? 2 : 1;
}

/* The displayed form of the character at *s, *n bytes; advances *s past it. */
static const char *shown(const char **s, size_t *n)
{
	const char *from = *s;
	int32_t cp;

	*n = sanitize_char(from, &cp);
	*s += *n;
	if (cp == FOREIGN_HIDDEN)
		return *n = 0, from;
	if (cp == FOREIGN_BAD || cp == '\t')
		return *n = 1, cp == '\t' ? " " : "?";
	return from;
}

char *sanitize_clean(char *buf, size_t size, const char *s)
{
	size_t n = 0, len;

	while (*s) {
		const char *part = shown(&s, &len);
		if (n + len >= size)
			break;
		memmove(buf + n, part, len);
		n += len;
	}
	buf[n] = 0;
	return buf;
}

void sanitize_put(FILE *out, const char *s, size_t size)
{
	for (const char *end = s + size; s < end;) {
		size_t len;
		const char *part = shown(&s, &len);
		fwrite(part, 1, len, out);
	}
}
