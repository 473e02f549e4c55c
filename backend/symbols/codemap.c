/* SPDX-License-Identifier: MIT
 *
 * codemap.c - see symbols/perfmap.h.
 *
 *   run = pieces [start, start + size) -> line, sorted, without overlaps
 *
 * A line is a run of one piece. A newer run laid over an older one gives a run again, in which the
 * newer wins. So two runs with the same number of lines are joined at once, as in a binary counter:
 * twenty-odd runs hold millions of lines, each line is copied some twenty times at most, and a
 * growing map costs as much as it grew. A lookup goes from the newest run to the oldest.
 *
 * The last bytes read tell an appended file from another one. Before a name is returned, its line
 * must still cover this pc.
 */
#include "symbols/perfmap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNS 24  /* more than 2^23 lines would need */
#define TAIL 64u /* bytes that tell one file from another */

struct piece {
	uint64_t start; /* first, for count_up_to() */
	uint32_t size;
	uint32_t at; /* of the line in the file, below CODEMAP_READ_MAX */
};

struct run {
	struct piece *pieces;
	size_t count;
};

struct codemap {
	struct run runs[RUNS]; /* [k]: of 2^k lines, or empty; lower ones are newer */
	uint32_t lines;
	uint64_t read; /* bytes of the file that were taken in: whole lines */
	uint64_t version;
	bool skipping; /* within a line that is too long */
	bool full;
	off_t size; /* of the file, at the last look */
	struct timespec written;
	char tail[TAIL]; /* the last bytes before `read` */
	size_t tail_len;
	char buffer[CODEMAP_LINE_MAX];
};

struct codemap *codemap_new(void)
{
	return xcalloc(1, sizeof(struct codemap));
}

static void clear(struct codemap *c)
{
	for (int k = 0; k < RUNS; k++) {
		free(c->runs[k].pieces);
		c->runs[k] = (struct run){ 0 };
	}
	c->lines = 0;
	c->read = 0;
	c->skipping = c->full = false;
	c->size = 0;
	c->written = (struct timespec){ 0 };
	c->tail_len = 0;
}

void codemap_forget(struct codemap *c)
{
	clear(c);
	c->version++;
}

void codemap_free(struct codemap *c)
{
	if (c)
		clear(c);
	free(c);
}

uint64_t codemap_version(const struct codemap *c)
{
	return c->version;
}

bool codemap_full(const struct codemap *c)
{
	return c->full;
}

static const char *take_hex(const char *p, const char *end, uint64_t *value)
{
	unsigned digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (*value = 0; p < end; p++, digits++) {
		int d = *p >= '0' && *p <= '9'                     ? *p - '0'
			: (*p | 0x20) >= 'a' && (*p | 0x20) <= 'f' ? (*p | 0x20) - 'a' + 10
								   : -1;
		if (d < 0)
			break;
		if (*value >> 60)
			return NULL;
		*value = *value << 4 | (unsigned)d;
	}
	return digits ? p : NULL;
}

static const char *skip_blanks(const char *p, const char *end)
{
	const char *from = p;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p > from ? p : NULL;
}

/* The name, up to `end`; NULL: the line has another form. */
static const char *parse(const char *line, const char *end, uint64_t *start, uint32_t *size)
{
	uint64_t bytes;
	const char *p = take_hex(line, end, start);

	p = p ? skip_blanks(p, end) : NULL;
	p = p ? take_hex(p, end, &bytes) : NULL;
	p = p ? skip_blanks(p, end) : NULL;
	if (!p || p >= end || !bytes || bytes > UINT32_MAX || *start > UINT64_MAX - bytes)
		return NULL;
	*size = (uint32_t)bytes;
	return (unsigned char)*p > ' ' ? p : NULL;
}

static uint64_t end_of(const struct piece *p)
{
	return p->start + p->size;
}

/* Adds [from, to) of an older piece. */
static void put_part(struct run *out, const struct piece *of, uint64_t from, uint64_t to)
{
	if (from < to)
		out->pieces[out->count++] = (struct piece){ from, (uint32_t)(to - from), of->at };
}

/* Frees both. */
static struct run overlay(struct run older, struct run newer)
{
	/* A newer piece splits at most one older one. */
	struct run out = { xmalloc((older.count + 2 * newer.count) * sizeof *out.pieces), 0 };
	size_t n = 0;

	for (size_t i = 0; i < older.count; i++) {
		const struct piece *o = &older.pieces[i];
		uint64_t from = o->start, end = end_of(o);
		for (; n < newer.count && end_of(&newer.pieces[n]) <= from; n++)
			out.pieces[out.count++] = newer.pieces[n];
		for (; n < newer.count && newer.pieces[n].start < end; n++) {
			put_part(&out, o, from, newer.pieces[n].start);
			from = end_of(&newer.pieces[n]);
			if (from > end) /* it may cover the next piece, too */
				break;
			out.pieces[out.count++] = newer.pieces[n];
		}
		put_part(&out, o, from, end);
	}
	while (n < newer.count)
		out.pieces[out.count++] = newer.pieces[n++];
	free(older.pieces);
	free(newer.pieces);
	out.pieces = xrealloc(out.pieces, out.count * sizeof *out.pieces);
	return out;
}

static void add(struct codemap *c, struct piece p)
{
	struct run newer = { xmalloc(sizeof p), 1 };
	int k = 0;

	newer.pieces[0] = p;
	for (; k < RUNS - 1 && c->runs[k].count; k++) {
		newer = overlay(c->runs[k], newer);
		c->runs[k] = (struct run){ 0 };
	}
	c->runs[k] = c->runs[k].count ? overlay(c->runs[k], newer) : newer;
	c->lines++;
}

static const struct piece *find(const struct codemap *c, uint64_t pc)
{
	for (int k = 0; k < RUNS; k++) {
		const struct run *r = &c->runs[k];
		size_t n = count_up_to(r->pieces, r->count, sizeof *r->pieces, pc);
		if (n && pc < end_of(&r->pieces[n - 1]))
			return &r->pieces[n - 1];
	}
	return NULL;
}

/* Whole lines of the buffer. Returns the bytes that they take. */
static size_t take_lines(struct codemap *c, size_t len)
{
	const char *p = c->buffer, *end = p + len, *newline;

	while (!c->full && p < end && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		struct piece piece;
		if (!c->skipping && parse(p, newline, &piece.start, &piece.size)) {
			piece.at = (uint32_t)(c->read + (uint64_t)(p - c->buffer));
			add(c, piece);
			c->full = c->lines >= CODEMAP_LINES_MAX;
		}
		c->skipping = false;
		p = newline + 1;
	}
	if (p == c->buffer && len == sizeof c->buffer) { /* the buffer holds no line's end */
		c->skipping = true;
		p = end;
	}
	return (size_t)(p - c->buffer);
}

static void keep_tail(struct codemap *c, size_t used)
{
	c->tail_len = used < TAIL ? used : TAIL;
	memcpy(c->tail, c->buffer + used - c->tail_len, c->tail_len);
}

static bool same_tail(const struct codemap *c, int fd)
{
	char now[TAIL];

	return pread(fd, now, c->tail_len, (off_t)(c->read - c->tail_len)) ==
		       (ssize_t)c->tail_len &&
	       !memcmp(now, c->tail, c->tail_len);
}

bool codemap_read(struct codemap *c, int fd)
{
	struct stat st;
	uint64_t until;

	if (fstat(fd, &st))
		return false;
	/* c->size stays 0 until the whole file was read. */
	if (st.st_size == c->size && st.st_mtim.tv_sec == c->written.tv_sec &&
	    st.st_mtim.tv_nsec == c->written.tv_nsec)
		return false;
	if ((uint64_t)st.st_size < c->read || !same_tail(c, fd))
		codemap_forget(c);
	uint32_t lines = c->lines;
	for (until = c->read + CODEMAP_SLICE; !c->full && c->read < until;) {
		ssize_t n = pread(fd, c->buffer, sizeof c->buffer, (off_t)c->read);
		size_t used = n > 0 ? take_lines(c, (size_t)n) : 0;
		if (!used)
			break;
		keep_tail(c, used);
		c->read += used;
		c->full |= c->read > CODEMAP_READ_MAX - CODEMAP_LINE_MAX;
	}
	c->version += c->lines != lines;
	if (!c->full && c->read >= until)
		return true;
	c->size = st.st_size;
	c->written = st.st_mtim;
	return false;
}

bool codemap_name(struct codemap *c, int fd, uint64_t pc, char name[CODEMAP_NAME_MAX])
{
	const struct piece *p = find(c, pc);
	char line[CODEMAP_NAME_MAX + 64];
	uint64_t start;
	uint32_t size;

	if (!p)
		return false;
	ssize_t n = pread(fd, line, sizeof line, p->at);
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;
	if (!end)
		end = line + (n > 0 ? n : 0);
	const char *text = parse(line, end, &start, &size);
	if (!text || pc < start || pc - start >= size) {
		codemap_forget(c);
		return false;
	}
	while (end > text && (unsigned char)end[-1] <= ' ')
		end--;
	size_t len = (size_t)(end - text) < CODEMAP_NAME_MAX ? (size_t)(end - text)
							     : CODEMAP_NAME_MAX - 1;
	memcpy(name, text, len);
	name[len] = '\0'; /* a NUL within ends it earlier */
	return true;
}
