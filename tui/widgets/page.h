/* SPDX-License-Identifier: MIT
 *
 * page.h - a page of text that is scrolled and searched: help, detail. First member of the
 * views that are such pages. Main thread.
 */
#ifndef PAGE_H
#define PAGE_H

#include "widgets/list_view.h"

struct page_line {
	enum role role;
	char *text;         /* owned, like the following: */
	char *place, *from; /* for a line in columns; NULL: text is the whole line */
};

struct page {
	struct view v;
	struct page_line *lines;
	size_t count, room, top;
	int height;
	char search[128];
};

void page_clear(struct page *p);
void page_add(struct page *p, enum role r, const char *format, ...) PRINTF(3, 4);
/* A line in columns, aligned over the page; a long place keeps its end. */
void page_add_columns(struct page *p, enum role r, const char *text, const char *place,
		      const char *from);
/* For view_ops. */
void page_free(struct view *v); /* frees a view that begins with its page and owns nothing else */
const enum focus *page_foci(struct view *v);
void page_draw(struct view *v, const struct area *a);
unsigned page_action(struct view *v, enum action r);
long page_search(struct view *v, const char *text, size_t *pending);
unsigned page_next_hit(struct view *v, enum hit which);
/* Scrolls anything with `count` lines; false = another action. */
bool page_move(enum action r, size_t *top, size_t count, int height);

#endif
