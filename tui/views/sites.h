/* SPDX-License-Identifier: MIT
 *
 * sites.h - the list of call sites in Overview and Sites. Main thread.
 */
#ifndef SITES_H
#define SITES_H

#include "views/table_view.h"

struct site_list {
	struct table_view t;     /* first */
	const struct site *rows; /* of the query, until the next query_sites() */
	size_t count, empty;     /* empty: more that held nothing in the interval */
};

/* Columns of rows that begin with a struct site. */
extern const struct column column_site, column_owner;

const struct site *site_list_at(const struct site_list *s, size_t line);
const struct site *site_list_selected(const struct site_list *s); /* NULL = none */
/* For view_ops and tables: */
uint64_t site_list_id(void *view, size_t row);
bool site_list_dim(void *view, size_t row);
unsigned site_list_action(struct view *v, enum action r);
bool site_list_row(struct view *v, struct view_row *out);
long site_list_search(struct view *v, const char *text, size_t *pending);

#endif
