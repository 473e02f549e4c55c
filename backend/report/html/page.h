/* SPDX-License-Identifier: MIT
 *
 * page.h - the frame of every html page: its head, its script and styles, and foreign text in it.
 * No state; any thread. Errors of the stream stay in it (report_flush()).
 *
 * A page is html_page_begin(), the answer as plain html, html_page_data(), one JSON object in a
 * pack, html_page_end().
 */
#ifndef REPORT_HTML_PAGE_H
#define REPORT_HTML_PAGE_H

#include "report/html/pack.h"

void html_text(FILE *out, const char *s); /* foreign text, cleaned and escaped */
void html_page_begin(FILE *out, const char *title);
struct pack *html_page_data(FILE *out);
void html_page_end(FILE *out, struct pack *data);

#endif
