/* SPDX-License-Identifier: MIT */
#include "base/columns.h"

#include "base/sanitize.h"

#include <string.h>

/* The columns of the character at *s; advances *s past it. */
static size_t step(const char **s)
{
	int32_t cp;

	*s += sanitize_decode(*s, &cp);
	return cp < 0 ? 1 : sanitize_columns(cp);
}

size_t columns_of(const char *s)
{
	size_t n = 0;

	while (*s)
		n += step(&s);
	return n;
}

/* The end of what fits in so many columns. */
static const char *head_end(const char *s, size_t columns)
{
	for (const char *next = s; *s; s = next) {
		size_t n = step(&next);
		if (n > columns)
			break;
		columns -= n;
	}
	return s;
}

/* The last part that fits in so many columns; what joins a character before it is left out. */
static const char *tail_begin(const char *s, size_t columns)
{
	size_t left = columns_of(s);

	for (const char *next = s; *s; s = next) {
		size_t n = step(&next);
		if (left <= columns && n)
			break;
		left -= n;
	}
	return s;
}

const char *columns_clip(char *buf, size_t size, const char *s, size_t columns, const char *dots)
{
	size_t room = columns_of(dots), tail = columns > room ? (columns - room) / 2 : 0;
	int want;

	if (columns_of(s) <= columns)
		want = snprintf(buf, size, "%s", s);
	else if (!tail)
		want = snprintf(buf, size, "%.*s", (int)(head_end(s, columns) - s), s);
	else
		want = snprintf(buf, size, "%.*s%s%s",
				(int)(head_end(s, columns - room - tail) - s), s, dots,
				tail_begin(s, tail));
	if (want >= (int)size) { /* full of joined ones: the last character is not whole */
		size_t n = size - 1;
		while (n && ((unsigned char)buf[n - 1] & 0xc0) == 0x80)
			n--;
		buf[n - (n && (unsigned char)buf[n - 1] >= 0xc0)] = '\0';
	}
	return buf;
}

/* Where a line goes on below: beneath its text. */
static size_t hang_of(const char *line)
{
	size_t blanks = strspn(line, " ");

	if (!strncmp(line, "! ", 2) || !strncmp(line, "* ", 2))
		return 2;
	return blanks ? blanks + 2 : 0;
}

/* The bytes of the first line of `room` columns: up to a blank, else through a word. */
static size_t fitting(const char *s, size_t len, size_t room)
{
	const char *end = head_end(s, room), *blank;

	if ((size_t)(end - s) >= len)
		return len;
	for (blank = end; blank > s && *blank != ' ';)
		blank--;
	return (size_t)((blank > s + strspn(s, " ") ? blank : end) - s);
}

static void wrap_line(const char *s, size_t len, FILE *out)
{
	size_t hang = hang_of(s), room = COLUMNS_OF_TEXT;

	for (;;) {
		size_t n = fitting(s, len, room);
		size_t ink = n;
		while (n < len && ink && s[ink - 1] == ' ') /* at a break alone */
			ink--;
		fwrite(s, 1, ink, out);
		fputc('\n', out);
		s += n;
		len -= n;
		while (len && *s == ' ')
			s++, len--;
		if (!len)
			return;
		fprintf(out, "%*s", (int)hang, "");
		room = COLUMNS_OF_TEXT - hang;
	}
}

void columns_wrap(const char *text, FILE *out)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		wrap_line(text, len, out);
		text += len + (text[len] == '\n');
	}
}
