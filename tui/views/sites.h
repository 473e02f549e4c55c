/* SPDX-License-Identifier: MIT
 *
 * sites.h - the list of call sites in Overview and Sites. Main thread.
 */
#ifndef SITES_H
#define SITES_H

#include "views/table_view.h"

struct site_list {
	struct table_view t; /* first */
	const struct site *rows;
	size_t count, empty; /* empty: more that held nothing in the interval */
	bool folds;          /* those are one line */
	uint64_t window_ns;  /* of their NET, query_window() */
	struct sites_kept shown, made;
	/* what site_list_make() makes: */
	enum query_column by;
	bool reverse, resort;
};

/* For view_ops. `ages`: which are wanted; by: the column to sort by. */
void site_list_ask(struct site_list *s, enum query_column by, bool resort, enum ages_of ages);
void site_list_make(struct view *v);
bool site_list_take(struct view *v);
void site_list_free(struct view *v);

/* Columns of rows that begin with a struct site. */
extern const struct column column_site, column_owner;

/* For view_ops and tables: */
uint64_t site_list_id(void *view, size_t row);
bool site_list_dim(void *view, size_t row);
unsigned site_list_action(struct view *v, enum action r);
bool site_list_row(struct view *v, struct view_row *out);
long site_list_search(struct view *v, const char *text, size_t *pending);

#endif
