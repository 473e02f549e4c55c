/* SPDX-License-Identifier: MIT
 *
 * text.h - the parts of a text report, in the order of the text. Main thread only.
 */
#ifndef REPORT_TEXT_TEXT_H
#define REPORT_TEXT_TEXT_H

#include "processes/processes.h"
#include "report/text/page.h"
#include "link/watch.h"

#include <stdio.h>

/* processes.c: the processes of a tree in a text report. */

/* The table before one process' report; shown: that process' id. */
void report_tree_text(const struct processes *p, uint32_t shown, FILE *out);

/* tables.c: the tables of a text report: owners, call sites, cut stacks, threads, marks. */

void text_libraries(const struct page *p);
void text_sites(const struct page *p);
void text_cuts(const struct page *p);
void text_threads(const struct page *p);
void text_marks(const struct page *p);

/* stacks.c: the stacks of a text report, and those that changed. */

void text_stacks(const struct page *p);
void text_stack(const struct page *p, const struct report_stack *s); /* what it holds; its frames */
/* list: report_changes(); sorted here by what they grew */
void text_changes(const struct page *p, struct report_stack *list, size_t n);

/* looks.c: the agent's scans of live blocks in a text report: a table each, or a sentence that
 * says why there is none. */

void report_text_resident(const struct watch *w, const struct model *m, FILE *out);
void report_text_ages(const struct watch *w, const struct model *m, FILE *out);

#endif
