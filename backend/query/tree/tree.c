/* SPDX-License-Identifier: MIT
 *
 * tree.c - rows of the call tree: what they hold, and how they are folded.
 */
#include "query/tree/tree.h"
#include "query/tree/group.h"
#include "query/tree/members.h"
#include "query/tree/places.h"
#include "query/tree/row.h"

#include <stdlib.h>
#include <string.h>

void tree_clear(struct query *q)
{
	for (size_t i = 0; i < q->row_count; i++) {
		free(q->rows[i]->children);
		free(q->rows[i]->block);
		free(q->rows[i]);
	}
	q->row_count = 0;
	q->shown.rows.count = 0;
	if (q->shown.place)
		memset(q->shown.place, 0, q->shown.place_room * sizeof *q->shown.place);
	q->zoom_depth = 0;
	map_clear(&q->child_of);
	row_new(q, NO_ID, NO_ID, false); /* number 0 is no row */
	row_new(q, NO_ID, NO_ID, false);
	row_new(q, NO_ID, NO_ID, true);
	q->rows[ROOT_DOWN]->open = q->rows[ROOT_UP]->open = true;
	q->structure++;
	q->tree_resets = model_resets(q->m);
	q->tree_naming = q->naming;
}

void tree_now(struct query *q)
{
	query_now(q);
	if (q->tree_resets != model_resets(q->m))
		tree_clear(q); /* another program's */
	if (q->tree_naming != q->naming)
		places_find(q);
	q->tree_naming = q->naming;
}

static bool any(struct query *q, void *arg, const struct member *m)
{
	(void)q;
	(void)m;
	*(bool *)arg = true;
	return false;
}

static bool each_step(struct query *q, const struct trow *r, step_fn fn, void *arg)
{
	for (uint32_t i = 0; i < r->member_count; i++)
		if (!member_steps(q, r, &r->members[i], fn, arg))
			return false;
	return true;
}

bool tree_has_children(struct query *q, uint32_t number)
{
	const struct trow *r = q->rows[number];
	bool has = false;

	if (group_built(q, r))
		return r->child_count != 0;
	each_step(q, r, any, &has);
	return has;
}

static bool another(struct query *q, void *arg, const struct member *m)
{
	uint32_t *fn = arg, this = member_fn(q, m);

	query_look(q, q->raw->skeleton->location[m->node]);
	if (*fn == NO_ID)
		*fn = this;
	return *fn == this;
}

/* Avoids building hidden rows. */
static bool has_one_child(struct query *q, uint32_t number)
{
	const struct trow *r = q->rows[number];
	uint32_t fn = NO_ID;

	if (group_built(q, r))
		return r->child_count == 1;
	return each_step(q, r, another, &fn) && fn != NO_ID;
}

static void sum_member(struct query *q, struct trow *r, const struct member *m, uint64_t *most)
{
	struct amounts v =
		r->inverted ? heap_self_amounts(q->heap, m->leaf) : heap_amounts(q->heap, m->node);
	uint64_t live = live_bytes(&v.sum);
	amounts_add(&r->incl, &v);
	if (m == r->members || live > *most) {
		*most = live;
		r->heavy = *m;
	}
	if (r->inverted ? r->parent != ROOT_UP : !member_innermost(q, m)) /* not its own */
		return;
	if (!r->inverted)
		v = heap_self_amounts(q->heap, m->node);
	amounts_add(&r->self, &v);
}

/* A row of the inverted tree's first level is a call site, unless the outermost of inlined frames
 * stands for it. */
static bool is_site(const struct query *q, const struct trow *r)
{
	return r->inverted && r->parent == ROOT_UP && !q->merged;
}

static void sum_sites(struct query *q)
{
	const struct heap_sites *s = q->raw->sites;

	if (q->sites_stamp == q->stamp)
		return;
	q->sites_stamp = q->stamp;
	free(q->site_sums);
	q->site_sums = xmalloc((s->count + 1ul) * sizeof *q->site_sums);
	heap_sum_by(q->heap, s->of_stack, s->count, q->site_sums);
	GROW(q->site_of_fn, q->site_fn_room, s->names->functions + 1ul);
	for (uint32_t i = 0; i < s->count; i++)
		if (s->function[i] != NO_ID)
			q->site_of_fn[s->function[i]] = i;
}

static void take_site(struct query *q, struct trow *r)
{
	sum_sites(q);
	if (!r->member_count)
		return;
	const struct heap_site *s = &q->site_sums[q->site_of_fn[r->fn]];

	r->incl = r->self = s->amounts;
	if (s->stacks)
		r->heavy = member_site(q, q->raw->skeleton->node_of_stack[s->heaviest]);
	else
		r->heavy = r->members[0];
}

void tree_value(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];
	uint64_t most = 0;

	if (r->valued == q->stamp)
		return;
	group_place(q, number);
	r->valued = q->stamp;
	r->incl = r->self = (struct amounts){ 0 };
	if (number == ROOT_UP) { /* all stacks that have a frame */
		struct amounts none = heap_self_amounts(q->heap, 0);
		r->incl = heap_amounts(q->heap, 0);
		amounts_sub(&r->incl, &none);
		return;
	}
	if (is_site(q, r)) {
		take_site(q, r);
		return;
	}
	for (uint32_t i = 0; i < r->member_count; i++)
		sum_member(q, r, &r->members[i], &most);
}

/* A row with one child and no amount of its own shows the child on its line, and so on. */
uint32_t tree_tail(struct query *q, uint32_t number)
{
	uint32_t tail = number;

	if (q->rows[number]->unfolded || q->rows[number]->rest)
		return tail;
	for (;;) {
		tree_value(q, tail);
		if (q->rows[tail]->self.sum.alloc_blocks || !has_one_child(q, tail))
			return tail;
		group_build(q, tail);
		tail = q->rows[tail]->children[0];
	}
}
