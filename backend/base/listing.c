/* SPDX-License-Identifier: MIT */
#include "base/listing.h"

#include "base/columns.h"
#include "base/name.h"
#include "base/sanitize.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LEAST 8 /* columns of a name, whatever there is room for */

/* What is written of a table, in its order. Its text goes up to where the next one's begins. */
struct piece {
	enum piece_kind { PIECE_ROW, PIECE_CELL, PIECE_BELOW } kind;
	char *name, *caller; /* before the text; NULL = there is none */
	size_t begin, tail;
};

struct listing {
	struct listing_column *columns;
	size_t count, width;
	struct piece *pieces;
	size_t piece_count, piece_room;
	FILE *out; /* in memory */
	char *text;
	size_t size;
};

struct listing *listing_new(const struct listing_column *columns, size_t count, size_t width)
{
	struct listing *t = xcalloc(1, sizeof *t);

	t->columns = xmalloc(count * sizeof *columns);
	memcpy(t->columns, columns, count * sizeof *columns);
	t->count = count;
	t->width = width;
	t->out = open_memstream(&t->text, &t->size);
	if (!t->out)
		base_out_of_memory();
	return t;
}

static struct piece *add(struct listing *t, enum piece_kind kind)
{
	if (fflush(t->out))
		base_out_of_memory();
	GROW(t->pieces, t->piece_room, t->piece_count + 1);
	t->pieces[t->piece_count] = (struct piece){ .kind = kind, .begin = t->size };
	return &t->pieces[t->piece_count++];
}

void listing_row(struct listing *t)
{
	add(t, PIECE_ROW);
}

FILE *listing_cell(struct listing *t)
{
	add(t, PIECE_CELL);
	return t->out;
}

void listing_put(struct listing *t, const char *text)
{
	fputs(text, listing_cell(t));
}

static char *cleaned(const char *s)
{
	size_t room = strlen(s) + 1;

	return sanitize_clean(xmalloc(room), room, s);
}

FILE *listing_name(struct listing *t, const char *name, const char *caller, size_t tail)
{
	struct piece *p = add(t, PIECE_CELL);

	p->name = cleaned(name);
	p->caller = caller && *caller ? cleaned(caller) : NULL;
	p->tail = tail;
	return t->out;
}

FILE *listing_below(struct listing *t)
{
	add(t, PIECE_BELOW);
	return t->out;
}

/* The piece's own text, cut out of the table's. */
static char *own_text(struct listing *t, size_t i)
{
	size_t end = i + 1 < t->piece_count ? t->pieces[i + 1].begin : t->size;

	return xstrndup(t->text + t->pieces[i].begin, end - t->pieces[i].begin);
}

/* The last column is as wide as it gets. */
static void measure(struct listing *t, size_t *width)
{
	size_t column = 0;

	for (size_t i = 0; i < t->count; i++) {
		size_t title = t->columns[i].title ? columns_of(t->columns[i].title) : 0;
		width[i] = title > t->columns[i].least ? title : t->columns[i].least;
	}
	for (size_t i = 0; i < t->piece_count; i++) {
		if (t->pieces[i].kind != PIECE_CELL) {
			column = 0;
			continue;
		}
		char *text = own_text(t, i);
		size_t wide = columns_of(text);
		if (column < t->count && wide > width[column])
			width[column] = wide;
		column++;
		free(text);
	}
}

/* One cell with the blanks before it; *pending: those that the cells before left out, so that no
 * line ends in blanks. */
static void put_cell(const struct listing *t, const size_t *width, size_t column, const char *text,
		     size_t *pending, FILE *out)
{
	const struct listing_column *c = &t->columns[column < t->count ? column : t->count - 1];
	size_t wide = columns_of(text), whole = width[c - t->columns],
	       pad = whole > wide ? whole - wide : 0;
	bool right = c->align == LISTING_RIGHT;

	*pending += c->gap + (right ? pad : 0);
	if (*text) {
		fprintf(out, "%*s%s", (int)*pending, "", text);
		*pending = 0;
	} else {
		*pending += wide;
	}
	*pending += right ? 0 : pad;
}

static void put_head(const struct listing *t, const size_t *width, FILE *out)
{
	bool any = false;
	size_t pending = 0;

	for (size_t i = 0; i < t->count; i++)
		any |= t->columns[i].title != NULL;
	for (size_t i = 0; any && i < t->count; i++)
		put_cell(t, width, i, t->columns[i].title ? t->columns[i].title : "", &pending,
			 out);
	fputs(any ? "\n" : "", out);
}

/* What the table's width leaves of the last column for a name. */
static size_t room_of(const struct listing *t, const size_t *width, size_t tail)
{
	size_t taken = t->columns[t->count - 1].gap + tail;

	if (!t->width)
		return SIZE_MAX;
	for (size_t i = 0; i + 1 < t->count; i++)
		taken += t->columns[i].gap + width[i];
	return taken + NAME_LEAST < t->width ? t->width - taken : NAME_LEAST;
}

/* "name < caller" in the row's room: the caller gets what the name leaves, and half of it at least.
 */
static void put_names(const struct piece *p, size_t room, FILE *out)
{
	static const char between[] = " < ";
	size_t gap = strlen(between), named = columns_of(p->name), head = room;
	char text[NAME_TEXT];

	if (room == SIZE_MAX) {
		fprintf(out, "%s%s%s", p->name, p->caller ? between : "",
			p->caller ? p->caller : "");
		return;
	}
	if (p->caller) {
		size_t called = columns_of(p->caller), half = (room - gap) / 2;

		head = called < half ? room - gap - called : named < half ? named : half;
	}
	fputs(name_fit(text, p->name, head, "..."), out);
	if (p->caller) {
		head = columns_of(text) + gap;
		fputs(between, out);
		fputs(name_fit(text, p->caller, room - head, "..."), out);
	}
}

/* A cell as it is written; free() it. */
static char *cell_text(struct listing *t, size_t i, size_t room)
{
	char *own = own_text(t, i), *text = NULL;
	size_t size;
	FILE *out;

	if (!t->pieces[i].name)
		return own;
	out = open_memstream(&text, &size);
	if (!out)
		base_out_of_memory();
	put_names(&t->pieces[i], room, out);
	fputs(own, out);
	fclose(out);
	free(own);
	return text;
}

static void put_pieces(struct listing *t, const size_t *width, FILE *out)
{
	size_t column = 0, pending = 0;
	bool open = false; /* a row has no end yet */

	for (size_t i = 0; i < t->piece_count; i++) {
		const struct piece *p = &t->pieces[i];
		char *text;

		if (p->kind != PIECE_CELL) {
			fputs(open ? "\n" : "", out);
			text = own_text(t, i);
			fputs(text, out);
			free(text);
			open = p->kind == PIECE_ROW;
			column = pending = 0;
			continue;
		}
		text = cell_text(t, i, room_of(t, width, p->tail));
		put_cell(t, width, column++, text, &pending, out);
		free(text);
	}
	fputs(open ? "\n" : "", out);
}

void listing_end(struct listing *t, FILE *out)
{
	size_t *width = xcalloc(t->count, sizeof *width);

	if (fclose(t->out))
		base_out_of_memory();
	measure(t, width);
	width[t->count - 1] = 0;
	put_head(t, width, out);
	put_pieces(t, width, out);
	for (size_t i = 0; i < t->piece_count; i++)
		free(t->pieces[i].name), free(t->pieces[i].caller);
	free(t->pieces);
	free(t->columns);
	free(t->text);
	free(width);
	free(t);
}
