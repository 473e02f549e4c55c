/* SPDX-License-Identifier: MIT
 *
 * row.c - a row of the call tree by itself: its number and its place below its parent.
 */
#include "query/tree/row.h"

#include <stdlib.h>

uint32_t row_root(const struct query *q)
{
	return q->inverted ? ROOT_UP : ROOT_DOWN;
}

uint32_t row_now(const struct query *q, row_id id)
{
	uint32_t at = id < q->row_count ? id : 0;

	while (at && q->rows[at]->gone)
		at = q->rows[at]->into;
	return at;
}

static uint64_t child_key(uint32_t parent, uint32_t fn)
{
	return (uint64_t)parent << 32 | fn;
}

void row_enter(struct query *q, uint32_t number, uint32_t parent, uint32_t fn)
{
	struct trow *r = q->rows[number];

	r->parent = parent;
	r->fn = fn;
	r->gone = false;
	r->into = 0;
	map_set(&q->child_of, child_key(parent, fn), number);
}

uint32_t row_new(struct query *q, uint32_t parent, uint32_t fn, bool inverted)
{
	struct trow *r = xcalloc(1, sizeof *r);
	uint32_t number = (uint32_t)q->row_count;

	GROW(q->rows, q->row_room, q->row_count + 1);
	r->rank = NO_ID;
	r->parent = parent;
	r->fn = fn;
	r->inverted = inverted;
	q->rows[q->row_count++] = r;
	if (parent != NO_ID && fn != NO_ID)
		row_enter(q, number, parent, fn);
	return number;
}

uint32_t row_child(const struct query *q, uint32_t parent, uint32_t fn)
{
	return map_get(&q->child_of, child_key(parent, fn), 0);
}
