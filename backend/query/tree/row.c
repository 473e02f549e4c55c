/* SPDX-License-Identifier: MIT
 *
 * row.c - a row of the call tree by itself: its number, its members, the names it is grouped by.
 */
#include "query/tree/row.h"
#include "query/tree/members.h"

#include <stdlib.h>

uint32_t row_root(const struct query *q)
{
	return q->inverted ? ROOT_UP : ROOT_DOWN;
}

uint32_t row_new(struct query *q, uint32_t parent, uint32_t fn)
{
	struct trow *r = xcalloc(1, sizeof *r);

	GROW(q->rows, q->row_room, q->row_count + 1);
	r->parent = parent;
	r->fn = fn;
	q->rows[q->row_count] = r;
	return (uint32_t)q->row_count++;
}

void row_drop(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];

	for (size_t i = 0; i < r->child_count; i++)
		row_drop(q, r->children[i]);
	free(r->members);
	free(r->children);
	r->members = NULL;
	r->children = NULL;
	r->member_count = r->member_room = r->child_count = r->child_room = 0;
	r->print = 0;
	r->gone = true;
}

void row_add_member(struct trow *r, struct member m)
{
	r->print += member_print(&m);
	GROW(r->members, r->member_room, r->member_count + 1);
	r->members[r->member_count++] = m;
}

bool row_current(const struct query *q, const struct trow *r)
{
	return r->rest || (r->built && !r->stray && r->grouped_at == q->renames);
}

static uint32_t renamed_at(const struct query *q, uint32_t index)
{
	uint32_t loc = names_loc_of(q->n, index);

	return loc < q->renamed_room ? q->renamed_at[loc] : 0;
}

/* A stack's call site depends on the names of all its wrappers, too. */
uint32_t row_renamed_at(const struct query *q, uint32_t row, const struct member *m)
{
	uint32_t last = renamed_at(q, m->index);

	for (uint32_t i = m->leaf; row == ROOT_UP && i != m->index; i = node_parent(q, i)) {
		uint32_t at = renamed_at(q, i);
		last = at > last ? at : last;
	}
	return last;
}
