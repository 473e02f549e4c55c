/* SPDX-License-Identifier: MIT
 *
 * mouse.h - the map of clickable areas: drawing code registers them, a click looks one up. Main
 * thread.
 */
#ifndef MOUSE_H
#define MOUSE_H

#include "widgets/list_view.h"

struct mouse_spot {
	struct area at;     /* on the screen */
	enum action action; /* of a button; ACT_NONE: rows of a list, or a column's head */
	struct list *list;  /* rows, the first one is the list's top; NULL: a head */
	list_id_fn *id;
	void *arg;
	bool focus; /* this list has the focus already */
	const struct table *table;
	int sort, sorted; /* a head's sort, and the current one */
};

void mouse_forget(void); /* a new screen begins */
void mouse_action(const struct area *a, int y, int x, int width, enum action r);
void mouse_rows(const struct area *a, int y, struct list *l, list_id_fn *id, void *arg, bool focus);
void mouse_head(const struct area *a, int y, int x, int width, const struct table *t, int sort,
		int sorted);
const struct mouse_spot *mouse_at(int y, int x); /* NULL = no target */

#endif
