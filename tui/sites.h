/* SPDX-License-Identifier: MIT
 *
 * sites.h - a list of call sites, as Overview and Sites have it. Main thread.
 */
#ifndef SITES_H
#define SITES_H

#include "query.h"
#include "view.h"

struct sites {
	struct view v;
	struct list list;
	const struct site *rows; /* of the query, until the next query_sites() */
	size_t count;
	size_t *order;           /* line -> row; NULL = as they come. Owned by the view */
	int sort[2];             /* plain, diff */
	bool reverse;
	list_id_fn *id;
};

const struct site *sites_at(const struct sites *s, size_t line);
const struct site *sites_selected(const struct sites *s); /* NULL = none */
unsigned sites_request(struct sites *s, enum request r, list_id_fn *id);
bool sites_row(struct view *v, struct view_row *out);
long sites_search(struct view *v, const char *text, size_t *pending);
unsigned sites_next_hit(struct view *v, bool backwards);

#endif
