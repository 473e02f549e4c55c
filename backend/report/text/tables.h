/* SPDX-License-Identifier: MIT
 *
 * tables.h - the tables of a text report: owners, call sites, cut stacks, threads, marks. Main
 * thread only.
 */
#ifndef REPORT_TEXT_TABLES_H
#define REPORT_TEXT_TABLES_H

#include "report/text/page.h"

void text_libraries(const struct page *p);
void text_sites(const struct page *p);
void text_cuts(const struct page *p);
void text_threads(const struct page *p);
void text_marks(const struct page *p);

#endif
