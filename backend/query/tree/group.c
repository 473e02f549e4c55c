/* SPDX-License-Identifier: MIT
 *
 * group.c - the children of a row of the call tree: its members' steps, grouped by function.
 *
 * They are grouped when a reader asks, once for each call tree and set of names. A group is the row
 * that was there before, with its number, if there is one of that function below the same parent.
 * Rows keep their order; new ones come last.
 */
#include "query/tree/group.h"
#include "query/tree/members.h"
#include "query/tree/row.h"

#include <stdlib.h>

struct group {
	uint32_t fn, row, count;
	uint32_t at; /* where its next member goes */
};

struct grouping {
	struct group *groups;
	size_t group_count, group_room;
	struct step {
		struct member m;
		uint32_t group;
	} * steps;
	size_t step_count, step_room;
};

static bool take_step(struct query *q, void *arg, const struct member *m)
{
	struct grouping *g = arg;
	uint32_t fn = member_fn(q, m), at = q->group_of[fn];

	query_look(q, q->raw->skeleton->location[m->node]);
	if (!at) {
		GROW(g->groups, g->group_room, g->group_count + 1);
		g->groups[g->group_count++] = (struct group){ .fn = fn };
		at = q->group_of[fn] = (uint32_t)g->group_count;
	}
	g->groups[at - 1].count++;
	GROW(g->steps, g->step_room, g->step_count + 1);
	g->steps[g->step_count++] = (struct step){ *m, at - 1 };
	return true;
}

static void step_all(struct query *q, const struct trow *r, struct grouping *g)
{
	GROW(q->group_of, q->group_room, q->raw->names->functions + 1ul);
	if (r->parent == NO_ID)
		member_steps(q, r, &(struct member){ 0 }, take_step, g);
	for (uint32_t i = 0; r->parent != NO_ID && i < r->member_count; i++)
		member_steps(q, r, &r->members[i], take_step, g);
	for (size_t i = 0; i < g->group_count; i++)
		q->group_of[g->groups[i].fn] = 0;
}

/* Each group's members lie together, in their order. */
static void take_members(struct query *q, struct trow *r, struct grouping *g)
{
	uint32_t at = 0;

	free(r->block);
	r->block = xmalloc((g->step_count + 1) * sizeof *r->block);
	for (size_t i = 0; i < g->group_count; i++) {
		g->groups[i].at = at;
		at += g->groups[i].count;
	}
	for (size_t i = 0; i < g->step_count; i++)
		r->block[g->groups[g->steps[i].group].at++] = g->steps[i].m;
	for (size_t i = 0; i < g->group_count; i++) {
		const struct group *p = &g->groups[i];
		struct trow *c = q->rows[p->row];

		c->members = r->block + p->at - p->count;
		c->member_count = p->count;
		c->placed = q->structure;
		c->valued = 0;
		if (!c->witness.node)
			c->witness = member_witness(q, &c->members[0]);
	}
}

static int by_rank(const void *a, const void *b, void *query)
{
	const struct query *q = query;
	uint32_t na = *(const uint32_t *)a, nb = *(const uint32_t *)b;
	uint32_t x = q->rows[na]->rank, y = q->rows[nb]->rank;

	return x != y ? (x < y ? -1 : 1) : na < nb ? -1 : na > nb;
}

static void take_groups(struct query *q, uint32_t number, struct grouping *g)
{
	bool inverted = q->rows[number]->inverted;

	for (size_t i = 0; i < g->group_count; i++) {
		struct group *p = &g->groups[i];

		p->row = row_child(q, number, p->fn);
		if (!p->row)
			p->row = row_new(q, number, p->fn, inverted);
	}
	struct trow *r = q->rows[number];
	free(r->children);
	r->child_count = (uint32_t)g->group_count;
	r->children = xmalloc((g->group_count + 1) * sizeof *r->children);
	for (size_t i = 0; i < g->group_count; i++)
		r->children[i] = g->groups[i].row;
	take_members(q, r, g);
	if (r->child_count > 1)
		qsort_r(r->children, r->child_count, sizeof *r->children, by_rank, q);
}

void group_place(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];

	if (r->placed == q->structure || r->rest)
		return;
	if (r->parent != NO_ID)
		group_build(q, r->parent);
	if (r->placed == q->structure)
		return;
	/* the root; or a row without a node in this call tree */
	static struct member root;
	r->members = &root;
	r->member_count = r->parent == NO_ID && !r->inverted;
	r->placed = q->structure;
	r->valued = 0;
}

void group_build(struct query *q, uint32_t number)
{
	struct grouping g = { 0 };

	if (group_built(q, q->rows[number]))
		return;
	group_place(q, number);
	step_all(q, q->rows[number], &g);
	take_groups(q, number, &g);
	q->rows[number]->built = q->structure;
	free(g.groups);
	free(g.steps);
}
