/* SPDX-License-Identifier: MIT */
#include "report/text/page.h"

#include "base/sanitize.h"

#include <stdlib.h>
#include <string.h>

void page_put(const struct page *p, const char *s)
{
	sanitize_put(p->out, s, strlen(s));
}

/* The columns of the character at *s; advances *s past it. */
static size_t step(const char **s)
{
	int32_t cp;

	*s += sanitize_decode(*s, &cp);
	return cp < 0 ? 1 : sanitize_columns(cp);
}

size_t page_columns(const char *s)
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
	size_t left = page_columns(s);

	for (const char *next = s; *s; s = next) {
		size_t n = step(&next);
		if (left <= columns && n)
			break;
		left -= n;
	}
	return s;
}

const char *page_shorten(char *buf, size_t size, const char *s, size_t columns)
{
	size_t tail = (columns - 3) / 2, head = columns - 3 - tail;
	int want;

	if (page_columns(s) <= columns || columns < 5)
		want = snprintf(buf, size, "%s", s);
	else
		want = snprintf(buf, size, "%.*s...%s", (int)(head_end(s, head) - s), s,
				tail_begin(s, tail));
	if (want >= (int)size) { /* full of joined ones: the last character is not whole */
		size_t n = size - 1;
		while (n && ((unsigned char)buf[n - 1] & 0xc0) == 0x80)
			n--;
		buf[n - (n && (unsigned char)buf[n - 1] >= 0xc0)] = '\0';
	}
	return buf;
}

/* The end of a group that begins at s, with its last character; NULL: it has none. */
static const char *group_end(const char *s)
{
	int depth = 0;

	for (const char *at = s; *at; at++) {
		if (strchr("<(", *at))
			depth++;
		else if (strchr(">)", *at) && (at == s || at[-1] != '-') && !--depth)
			return at + 1;
	}
	return NULL;
}

/* Is what stands in this group a part of the name itself? */
static bool kept(const char *s, const char *end)
{
	return end - s <= 5 || !strncmp(s, "(anonymous", 10);
}

/* "std::map<...>::operator[](...)": what template arguments and parameters leave. */
static void collapse(char *buf, size_t size, const char *s)
{
	static const char word[] = "operator";
	size_t n = 0;

	while (*s && n + 8 < size) {
		const char *end = *s == '<' || *s == '(' ? group_end(s) : NULL;

		if (!strncmp(s, word, sizeof word - 1)) { /* its < and ( open nothing */
			size_t len = sizeof word - 1;
			len += !strncmp(s + len, "()", 2) ? 2 : strspn(s + len, "<>=-!+*/%^&|~[]");
			if (n + len + 8 >= size)
				break;
			memcpy(buf + n, s, len);
			n += len;
			s += len;
		} else if (end && !kept(s, end)) {
			n += (size_t)snprintf(buf + n, size - n, "%c...%c", *s, end[-1]);
			s = end;
		} else {
			buf[n++] = *s++;
		}
	}
	buf[n] = '\0';
}

void page_name(const struct page *p, const char *s, size_t columns)
{
	char clean[4096], plain[4096], brief[4096 + 4];

	if (p->options->full) {
		page_put(p, s);
		return;
	}
	sanitize_clean(clean, sizeof clean, s);
	if (page_columns(clean) > columns) {
		collapse(plain, sizeof plain, clean);
		page_shorten(brief, sizeof brief, plain, columns);
	}
	fputs(page_columns(clean) > columns ? brief : clean, p->out);
}

#define NAME 44   /* columns left for the name of a row */
#define HOLDERS 7 /* ... less those of PROCS, in All */

size_t page_name_columns(const struct page *p)
{
	return p->holders.all ? NAME - HOLDERS : NAME;
}

void page_holders(const struct page *p, size_t processes)
{
	if (p->holders.all)
		fprintf(p->out, "%*zu  ", HOLDERS - 2, processes);
}

void page_title(const struct page *p, const char *text)
{
	fprintf(p->out, "\n%s\n", text);
}

const char *page_bytes(char buf[FORMAT_NUMBER], uint64_t bytes, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", bytes && estimate ? "~" : "",
		 format_bytes(plain, bytes));
	return buf;
}

const char *page_count(char buf[FORMAT_NUMBER], uint64_t n, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", n && estimate ? "~" : "", format_count(plain, n));
	return buf;
}

const char *page_signed(char buf[FORMAT_NUMBER], int64_t bytes, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", bytes && estimate ? "~" : "",
		 format_signed(plain, bytes));
	return buf;
}

void page_rest(const struct page *p, size_t count, const struct more *m, const char *what)
{
	char n[FORMAT_NUMBER], b[FORMAT_NUMBER];

	if (count)
		fprintf(p->out, "%10s  %9s %11s   %*s%s more %s\n",
			page_bytes(b, m->bytes, m->estimate), "", "...",
			p->holders.all ? HOLDERS : 0, "", format_count(n, count), what);
}

void page_head(const struct page *p, const char *name)
{
	fprintf(p->out, "%10s  %9s %11s   %s%s\n", "LIVE", "BLOCKS", "ALLOCATED",
		p->holders.all ? "PROCS  " : "", name);
}

const char *page_blocks(uint64_t count)
{
	return count == 1 ? "block" : "blocks";
}

void page_row(const struct page *p, const struct tally *t, bool estimate)
{
	char live[FORMAT_NUMBER], blocks[FORMAT_NUMBER], alloc[FORMAT_NUMBER];

	fprintf(p->out, "%10s  %9s %11s   ", page_bytes(live, live_bytes(t), estimate),
		page_count(blocks, live_blocks(t), estimate),
		page_bytes(alloc, t->alloc_bytes, estimate));
}

/* --- lines of 80 columns */

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
	size_t hang = hang_of(s), room = PAGE_COLUMNS;

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
		room = PAGE_COLUMNS - hang;
	}
}

void page_wrap(const char *text, FILE *out)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		wrap_line(text, len, out);
		text += len + (text[len] == '\n');
	}
}
