/* SPDX-License-Identifier: MIT
 *
 * listing.h - the one printer of text tables: cells are written one after the other, and at the end
 * each column is as wide as its widest cell. The last column holds names and sentences: it takes
 * what the other columns leave of the table's width. Any thread; one table, one thread.
 */
#ifndef BASE_LISTING_H
#define BASE_LISTING_H

#include "base/base.h"

enum listing_align { LISTING_RIGHT, LISTING_LEFT };

struct listing_column {
	const char *title; /* all NULL: the table has no head; "" = this column has none */
	enum listing_align align;
	unsigned least; /* columns; so that tables below each other look alike */
	unsigned gap;   /* blanks before it */
};

struct listing;
/* columns: copied, with borrowed titles. width 0: names are whole. */
struct listing *listing_new(const struct listing_column *columns, size_t count, size_t width);
void listing_row(struct listing *t);
/* Where the next cell of the row is written: clean text, one line. Valid until the next call. */
FILE *listing_cell(struct listing *t);
void listing_put(struct listing *t, const char *text); /* a cell of clean text */
/* The row's last cell, foreign text in what is left of the width: what a row is of, and unless it
 * is NULL, its caller: "name < caller". full: the function in full, which tells names apart
 * (base/name.h); NULL = the name. tail: columns of what is written behind, to what it returns. */
FILE *listing_name(struct listing *t, const char *name, const char *full, const char *caller,
		   size_t tail);
/* Where lines below the row are written: whole lines, in no column. */
FILE *listing_below(struct listing *t);
/* Writes the table and frees it. */
void listing_end(struct listing *t, FILE *out);

#endif
