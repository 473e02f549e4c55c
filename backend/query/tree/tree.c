/* SPDX-License-Identifier: MIT
 *
 * tree.c - rows of the call tree: their nodes and the sums of these.
 *
 * A row is summed up in slices; until the end it shows its old values. query/tree/place.c adds what
 * arrives.
 */
#include "query/tree/tree.h"
#include "query/steps.h"
#include "query/tree/group.h"
#include "query/tree/members.h"
#include "query/tree/row.h"

#include <stdlib.h>
#include <string.h>

#define SCANNED_MEMBERS 4096u

void tree_clear(struct query *q)
{
	if (q->row_count)
		group_drop(q);
	for (size_t i = 0; i < q->row_count; i++) {
		free(q->rows[i]->members);
		free(q->rows[i]->children);
		free(q->rows[i]);
	}
	q->row_count = 0;
	q->shown.count = 0;
	q->zoom_depth = 0;
	q->down_count = q->up_at = 1;
	map_clear(&q->child_of);
	map_clear(&q->aside);
	if (q->up_room)
		memset(q->up_leaf, 0, q->up_room);
	row_new(q, NO_ID, NO_ID); /* number 0 is no row */
	row_new(q, NO_ID, NO_ID);
	row_new(q, NO_ID, NO_ID);
	q->rows[ROOT_DOWN]->open = q->rows[ROOT_UP]->open = true;
	row_add_member(q->rows[ROOT_DOWN], (struct member){ 0, 0, 0 });
}

uint64_t tree_version(const struct query *q)
{
	return names_version(q->n) + q->turns;
}

/* --- what is below */

static bool any(struct query *q, void *arg, const struct member *m)
{
	(void)q;
	(void)m;
	*(bool *)arg = true;
	return false;
}

static bool each_step(struct query *q, const struct trow *r, step_fn fn, void *arg)
{
	for (size_t i = 0; i < r->member_count; i++)
		if (!member_steps(q, &r->members[i], fn, arg))
			return false;
	return true;
}

bool tree_has_children(struct query *q, uint32_t number)
{
	const struct trow *r = q->rows[number];
	bool has = false;

	if (row_current(q, r))
		return r->child_count != 0;
	each_step(q, r, any, &has);
	return has;
}

bool tree_shown(struct query *q, uint32_t number)
{
	const struct trow *r = q->rows[number];

	return group_good(q, r) || group_build(q, number) || r->built;
}

static bool another(struct query *q, void *arg, const struct member *m)
{
	uint32_t *fn = arg, this = member_fn(q, m);

	if (*fn == NO_ID)
		*fn = this;
	return *fn == this;
}

/* Avoids building hidden rows, unless the test costs as much. False: no step left. */
static bool has_one_child(struct query *q, uint32_t number, bool *one)
{
	const struct trow *r = q->rows[number];
	uint32_t fn = NO_ID;

	if (r->member_count > SCANNED_MEMBERS && !tree_shown(q, number))
		return false;
	if (group_good(q, r) || (r->built && r->member_count > SCANNED_MEMBERS))
		*one = r->child_count == 1;
	else
		*one = each_step(q, r, another, &fn) && fn != NO_ID;
	return true;
}

/* --- values */

static void sum_member(struct query *q, struct trow *r, const struct member *m, bool first)
{
	const struct amounts *v = q->inverted ? filter_self(q, m->leaf) : filter_incl(q, m->index);
	uint64_t live = live_bytes(&v->sum);

	amounts_add(&r->incl, v);
	if (first || live > r->most) {
		r->most = live;
		r->heavy = *m;
	}
	if (q->inverted ? r->parent == ROOT_UP : member_innermost(q, m))
		amounts_add(&r->self, filter_self(q, m->leaf));
}

bool tree_value(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];

	if (r->valued == q->stamp)
		return true;
	if (!r->summed || r->summing != q->stamp) {
		r->incl = r->self = (struct amounts){ 0 };
		r->most = 0;
		r->summed = 0;
		r->summing = q->stamp;
	}
	for (; r->summed < r->member_count; r->summed++) {
		if (!take_step(q))
			return false;
		sum_member(q, r, &r->members[r->summed], r->summed == 0);
	}
	r->valued = q->stamp;
	r->summed = 0;
	return true;
}

/* A row with one child and no amount of its own shows the child on its line, and so on. */
bool tree_tail(struct query *q, uint32_t number, uint32_t *tail)
{
	bool one;

	*tail = number;
	if (q->rows[number]->unfolded || q->rows[number]->rest)
		return true;
	for (;;) {
		if (!tree_value(q, *tail))
			return false;
		if (q->rows[*tail]->self.sum.alloc_blocks)
			return true;
		if (!has_one_child(q, *tail, &one) || (one && !tree_shown(q, *tail)))
			return false;
		if (!one || q->rows[*tail]->child_count != 1)
			return true;
		*tail = q->rows[*tail]->children[0];
	}
}
