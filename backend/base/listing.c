/* SPDX-License-Identifier: MIT */
#include "base/listing.h"

#include "base/columns.h"
#include "base/name.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LEAST 8 /* columns of a name, whatever there is room for */

/* What is written of a table, in its order. Its text goes up to where the next one's begins. */
struct piece {
	enum piece_kind { PIECE_ROW, PIECE_CELL, PIECE_BELOW } kind;
	char *name, *full, *caller; /* before the text; NULL = there is none */
	size_t name_at, caller_at;  /* in the table's */
	size_t begin, tail;
};

struct listing {
	struct listing_column *columns;
	size_t count, width;
	struct piece *pieces;
	size_t piece_count, piece_room;
	struct name_item *names, *callers; /* at the end */
	size_t name_count, caller_count;
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

FILE *listing_name(struct listing *t, const char *name, const char *full, const char *caller,
		   size_t tail)
{
	struct piece *p = add(t, PIECE_CELL);

	p->name = xstrdup(name);
	p->full = full ? xstrdup(full) : NULL;
	p->caller = caller && *caller ? xstrdup(caller) : NULL;
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

static const char between[] = " < ";

/* A caller gets what the name leaves, and half of the room at least. */
static size_t name_room(const struct piece *p, size_t room)
{
	size_t called, half;

	if (!p->caller || room == SIZE_MAX)
		return room;
	called = columns_of(p->caller);
	half = (room - strlen(between)) / 2;
	if (called < half)
		return room - strlen(between) - called;
	return columns_of(p->name) < half ? columns_of(p->name) : half;
}

/* The names of all rows together, then those of their callers. */
static void fit_names(struct listing *t, const size_t *width)
{
	t->names = xcalloc(t->piece_count + 1, sizeof *t->names);
	t->callers = xcalloc(t->piece_count + 1, sizeof *t->callers);
	for (size_t i = 0; i < t->piece_count; i++) {
		struct piece *p = &t->pieces[i];

		if (!p->name)
			continue;
		p->name_at = t->name_count;
		t->names[t->name_count++] = (struct name_item){
			.name = p->name,
			.full = p->full,
			.columns = name_room(p, room_of(t, width, p->tail)),
		};
	}
	names_fit(t->names, t->name_count, "...");
	for (size_t i = 0; i < t->piece_count; i++) {
		struct piece *p = &t->pieces[i];
		size_t room = room_of(t, width, p->tail);

		if (!p->caller)
			continue;
		if (room != SIZE_MAX)
			room -= columns_of(t->names[p->name_at].text) + strlen(between);
		p->caller_at = t->caller_count;
		t->callers[t->caller_count++] =
			(struct name_item){ .name = p->caller, .columns = room };
	}
	names_fit(t->callers, t->caller_count, "...");
}

/* A cell as it is written; free() it. */
static char *cell_text(struct listing *t, size_t i)
{
	const struct piece *p = &t->pieces[i];
	char *own = own_text(t, i), *text;

	if (!p->name)
		return own;
	text = xasprintf("%s%s%s%s", t->names[p->name_at].text, p->caller ? between : "",
			 p->caller ? t->callers[p->caller_at].text : "", own);
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
		text = cell_text(t, i);
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
	fit_names(t, width);
	put_head(t, width, out);
	put_pieces(t, width, out);
	names_release(t->names, t->name_count);
	names_release(t->callers, t->caller_count);
	free(t->names);
	free(t->callers);
	for (size_t i = 0; i < t->piece_count; i++)
		free(t->pieces[i].name), free(t->pieces[i].full), free(t->pieces[i].caller);
	free(t->pieces);
	free(t->columns);
	free(t->text);
	free(width);
	free(t);
}
