/* SPDX-License-Identifier: MIT
 *
 * page.h - what the parts of a text report share: numbers, names and rows. Main thread only.
 *
 * A part writes long lines; page_wrap() at the end brings all of them to 80 columns.
 */
#ifndef REPORT_TEXT_PAGE_H
#define REPORT_TEXT_PAGE_H

#include "report/holders.h"
#include "report/report.h"

#define PAGE_COLUMNS 80

struct page {
	FILE *out; /* in memory */
	struct report *report;
	struct query *query;
	const struct report_options *options;
	size_t top;
	struct holders holders;
	const char *missing; /* why it is not known what each thread holds; NULL = it is */
};

void page_put(const struct page *p, const char *s); /* foreign text */
/* The same in so many columns: a longer one loses what stands in brackets, then its middle. With
 * --full, whole. */
void page_name(const struct page *p, const char *s, size_t columns);
void page_title(const struct page *p, const char *text);

/* "~14.0M" for amounts with a sampled share; they return buf. */
const char *page_bytes(char buf[FORMAT_NUMBER], uint64_t bytes, bool estimate);
const char *page_count(char buf[FORMAT_NUMBER], uint64_t n, bool estimate);
const char *page_signed(char buf[FORMAT_NUMBER], int64_t bytes, bool estimate);
const char *page_blocks(uint64_t count); /* "block", "blocks" */

void page_head(const struct page *p, const char *name);
void page_row(const struct page *p, const struct tally *t, bool estimate);
/* The next column of a row of All. The columns that are left for the name. */
void page_holders(const struct page *p, size_t processes);
size_t page_name_columns(const struct page *p);

/* The rows that a cut table left out. */
struct more {
	uint64_t bytes;
	bool estimate;
};
/* "... 1,204 more hold 3.2M" under a table that was cut. */
void page_rest(const struct page *p, size_t count, const struct more *m, const char *what);

/* s in so many columns at most, its middle replaced by "..."; returns buf. Characters
 * stay whole. */
const char *page_shorten(char *buf, size_t size, const char *s, size_t columns);
size_t page_columns(const char *s);

/* Writes text with lines of 80 columns at most: a longer one goes on below, indented. */
void page_wrap(const char *text, FILE *out);

#endif
