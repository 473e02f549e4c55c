/* SPDX-License-Identifier: MIT
 *
 * sites.h - a list of call sites, as Overview and Sites have it. Main thread.
 */
#ifndef SITES_H
#define SITES_H

#include "views/ages.h"
#include "query/query.h"
#include "widgets/list_view.h"

struct sites {
	struct view v;
	struct list list;
	const struct site *rows; /* of the query, until the next query_sites() */
	size_t count;
	int sort[2]; /* plain, diff */
	bool reverse;
	list_id_fn *id;
	struct ages ages;
};

const struct site *sites_at(const struct sites *s, size_t line);
const struct site *sites_selected(const struct sites *s); /* NULL = none */
unsigned sites_request(struct sites *s, enum request r, list_id_fn *id);
bool sites_row(struct view *v, struct view_row *out);
bool sites_hit(void *arg, size_t row); /* of a struct sites */
long sites_search(struct view *v, const char *text, size_t *pending);
unsigned sites_next_hit(struct view *v, bool backwards);

#endif
