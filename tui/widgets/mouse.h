/* SPDX-License-Identifier: MIT
 *
 * mouse.h - the map of clickable areas: drawing code registers them, a click looks one up. Main
 * thread.
 */
#ifndef MOUSE_H
#define MOUSE_H

#include "widgets/list_view.h"

struct mouse_spot {
	struct area at;       /* on the screen */
	enum request request; /* to press; REQ_NONE: rows of a list, or the head of a column */
	struct list *list;    /* rows, the first one is the list's top; NULL: a head */
	list_id_fn *id;
	void *arg;
	bool focus; /* keys go to this list already */
	const struct table *table;
	int sort, sorted; /* of a head: what it sorts by, and what is sorted by now */
};

void mouse_forget(void); /* a new screen begins */
void mouse_request(const struct area *a, int y, int x, int width, enum request r);
void mouse_rows(const struct area *a, int y, struct list *l, list_id_fn *id, void *arg, bool focus);
void mouse_head(const struct area *a, int y, int x, int width, const struct table *t, int sort,
		int sorted);
const struct mouse_spot *mouse_at(int y, int x); /* NULL = nothing to press */

#endif
