/* SPDX-License-Identifier: MIT
 *
 * page.h - what the parts of a text report share: numbers, names and the columns of its tables
 * (base/listing.h). Main thread only.
 *
 * A part writes long lines; columns_wrap() at the end brings all of them to 80 columns.
 */
#ifndef REPORT_TEXT_PAGE_H
#define REPORT_TEXT_PAGE_H

#include "base/listing.h"
#include "report/holders.h"
#include "report/report.h"

struct page {
	FILE *out; /* in memory */
	struct report *report;
	struct query *query;
	const struct report_options *options;
	size_t top;
	struct holders holders;
	const char *missing; /* why it is not known what each thread holds; NULL = it is */
	/* Of a change up to now: the stacks that changed; borrowed. Rows that hold nothing and are
	 * of none of these held nothing since the base. Else NULL. */
	const struct report_stack *changed;
	size_t changed_count;
};

void page_put(FILE *out, const char *s); /* foreign text */
/* The same in so many columns (base/name.h); with --full, whole. */
void page_name(const struct page *p, FILE *out, const char *s, size_t columns);
void page_title(const struct page *p, const char *text);

/* "~14.0M" for amounts with a sampled share; they return buf. */
const char *page_bytes(char buf[FORMAT_NUMBER], uint64_t bytes, bool estimate);
const char *page_count(char buf[FORMAT_NUMBER], uint64_t n, bool estimate);
const char *page_signed(char buf[FORMAT_NUMBER], int64_t bytes, bool estimate);
const char *page_blocks(uint64_t count); /* "block", "blocks" */

/* A table of a report's part: three columns of figures and one of names; `holders`: in a report of
 * All, PROCS between them. */
struct listing *page_listing(const struct page *p, const char *const title[4], bool holders);
/* A row's LIVE, BLOCKS and ALLOCATED. */
void page_amounts(struct listing *t, const struct tally *sum, bool estimate);

/* The rows that a cut table left out. */
struct more {
	uint64_t bytes;
	bool estimate;
};
/* "... 1,204 more" as the last row of a table that was cut. */
void page_rest(const struct page *p, struct listing *t, size_t count, const struct more *m,
	       const char *what);
/* "12 more without memory": the rows that held nothing since the base of a change. */
void page_empty(const struct page *p, struct listing *t, size_t count);

#endif
