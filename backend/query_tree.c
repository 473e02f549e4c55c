/* SPDX-License-Identifier: MIT
 *
 * query_tree.c - rows of the call tree: which nodes they stand for, and what these add up to.
 *
 * Top-down, a member steps from a frame to the next inner one: first through the inlined frames
 * of its node, then to each child node. Inverted, a member starts at an allocating node and
 * steps outwards, and every row's value is what its members' leaves allocated themselves.
 *
 * A row's children are grouped by function when somebody looks, and again after names or nodes
 * arrived. A new group takes over the row of the old child that it shares a node with: its number,
 * what is open below it, and its place on screen.
 */
#include "query_priv.h"

#include <stdlib.h>
#include <string.h>

#define ROOT_DOWN 1u
#define ROOT_UP 2u

uint32_t tree_root(const struct query *q)
{
	return q->inverted ? ROOT_UP : ROOT_DOWN;
}

static uint32_t new_row(struct query *q, uint32_t parent, uint32_t fn)
{
	struct trow *r = xcalloc(1, sizeof *r);

	GROW(q->rows, q->row_room, q->row_count + 1);
	r->parent = parent;
	r->fn = fn;
	q->rows[q->row_count] = r;
	return (uint32_t)q->row_count++;
}

static void drop_row(struct trow *r)
{
	free(r->members);
	free(r->children);
	r->members = NULL;
	r->children = NULL;
	r->member_count = r->member_room = r->child_count = r->child_room = 0;
	r->gone = true;
}

void tree_clear(struct query *q)
{
	for (size_t i = 0; i < q->row_count; i++) {
		drop_row(q->rows[i]);
		free(q->rows[i]);
	}
	q->row_count = 0;
	q->out_count = 0;
	q->zoom_depth = 0;
	new_row(q, NO_ID, NO_ID); /* number 0 is no row */
	new_row(q, NO_ID, NO_ID);
	new_row(q, NO_ID, NO_ID);
	q->rows[ROOT_DOWN]->open = q->rows[ROOT_UP]->open = true;
}

/* A location's frames. */
static const struct name_loc *loc_of(struct query *q, uint32_t index)
{
	return names_loc(q->n, names_loc_of(q->n, index));
}

static void add_member(struct trow *r, struct member m)
{
	GROW(r->members, r->member_room, r->member_count + 1);
	r->members[r->member_count++] = m;
}

/* The members of the two roots: the trie's root, or every stack that ever allocated. */
static void make_root(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];
	uint32_t count = model_dense_count(q->m);

	r->member_count = 0;
	if (number == ROOT_DOWN) {
		if (count)
			add_member(r, (struct member){ 0, 0, 0 });
		return;
	}
	for (uint32_t i = 1; i < count; i++)
		if (model_dense(q->m, i, NULL)->self.alloc_blocks)
			add_member(r, (struct member){ i, NO_ID, i });
}

/* Changes when children of built rows may be others: new nodes, or new stacks in the inverted tree. */
static uint64_t shape_stamp(const struct query *q)
{
	return (uint64_t)model_dense_count(q->m) << 32 | (q->inverted ? q->leaf_count : 0);
}

/* --- grouping */

struct group { uint32_t fn, row; size_t first, count; };
struct grouping {
	struct member *members;
	uint32_t *fns;           /* of each member */
	size_t count, room, fn_room;
	struct group *groups;
	size_t group_count, group_room;
	struct map by_fn, by_key;
};

static void candidate(struct query *q, struct grouping *g, struct member m)
{
	const struct name_loc *l = loc_of(q, m.index);
	uint32_t fn = l->frames[m.frame < l->count ? m.frame : l->count - 1].fn;
	uint32_t at = map_get(&g->by_fn, fn, NO_ID);

	GROW(g->members, g->room, g->count + 1);
	GROW(g->fns, g->fn_room, g->count + 1);
	if (at == NO_ID) {
		at = (uint32_t)g->group_count;
		GROW(g->groups, g->group_room, g->group_count + 1);
		g->groups[g->group_count++] = (struct group){ fn, 0, 0, 0 };
		map_set(&g->by_fn, fn, at);
	}
	g->groups[at].count++;
	g->members[g->count] = m;
	g->fns[g->count++] = at;
	map_set(&g->by_key, m.leaf, at);
}

static void step_down(struct query *q, struct grouping *g, const struct member *m)
{
	if (m->index && m->frame > 0 && m->frame != NO_ID) {
		candidate(q, g, (struct member){ m->index, m->frame - 1, m->index });
		return;
	}
	uint32_t child = model_dense(q->m, m->index, NULL)->first_child;
	while (child != NO_ID) {
		const struct node *c = model_node(q->m, child);
		const struct name_loc *l = loc_of(q, c->index);
		candidate(q, g, (struct member){ c->index, l->count - 1, c->index });
		child = c->next_sibling;
	}
}

static void step_up(struct query *q, struct grouping *g, const struct member *m)
{
	if (m->frame == NO_ID) {
		candidate(q, g, (struct member){ m->index, 0, m->leaf });
		return;
	}
	if (m->frame + 1 < loc_of(q, m->index)->count) {
		candidate(q, g, (struct member){ m->index, m->frame + 1, m->leaf });
		return;
	}
	const struct node *n = model_dense(q->m, m->index, NULL);
	const struct node *p = n->parent == NO_ID ? NULL : model_node(q->m, n->parent);
	if (p && p->index)
		candidate(q, g, (struct member){ p->index, 0, m->leaf });
}

/* Old children keep their number where a group holds the node that they were known by. */
static void match_old(struct query *q, const struct trow *r, struct grouping *g)
{
	for (size_t i = 0; i < r->child_count; i++) {
		struct trow *c = q->rows[r->children[i]];
		uint32_t at = NO_ID;
		for (size_t k = 0; k < c->member_count && k < 8 && at == NO_ID; k++)
			at = map_get(&g->by_key, c->members[k].leaf, NO_ID);
		if (at != NO_ID && !g->groups[at].row)
			g->groups[at].row = r->children[i];
		else
			c->gone = true;
	}
}

static void take_groups(struct query *q, uint32_t number, struct grouping *g, bool renamed)
{
	struct trow *r = q->rows[number];
	uint32_t *children = NULL;
	size_t room = 0, count = 0;

	for (size_t i = 0; i < r->child_count; i++) /* the old order first */
		if (!q->rows[r->children[i]]->gone) {
			GROW(children, room, count + 1);
			children[count++] = r->children[i];
		} else {
			drop_row(q->rows[r->children[i]]);
		}
	for (size_t i = 0; i < g->group_count; i++) {
		struct group *p = &g->groups[i];
		if (!p->row) {
			p->row = new_row(q, number, p->fn);
			/* What was one open row may have become a chain of inlined ones. */
			q->rows[p->row]->open = renamed && r->open && r->built;
			GROW(children, room, count + 1);
			children[count++] = p->row;
		}
		q->rows[p->row]->fn = p->fn;
		q->rows[p->row]->member_count = 0;
		q->rows[p->row]->valued = 0;
	}
	for (size_t i = 0; i < g->count; i++)
		add_member(q->rows[g->groups[g->fns[i]].row], g->members[i]);
	free(r->children);
	r->children = children;
	r->child_count = count;
	r->child_room = room;
}

void tree_build(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];
	uint64_t version = names_version(q->n), shape = shape_stamp(q);
	struct grouping g = { 0 };

	if (r->rest || (r->built && r->built_version == version && r->built_shape == shape))
		return;
	if (r->parent == NO_ID)
		make_root(q, number);
	for (size_t i = 0; i < r->member_count; i++) {
		if (q->inverted)
			step_up(q, &g, &r->members[i]);
		else
			step_down(q, &g, &r->members[i]);
	}
	match_old(q, r, &g);
	bool renamed = r->built_version != version && r->member_count &&
		       r->members[0].frame > 0 && r->members[0].frame != NO_ID;
	take_groups(q, number, &g, renamed);
	r->built = true;
	r->built_version = version;
	r->built_shape = shape;
	free(g.members);
	free(g.fns);
	free(g.groups);
	map_release(&g.by_fn);
	map_release(&g.by_key);
}

/* --- values */

void tree_value(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];
	uint64_t most = 0;

	if (r->valued == q->stamp)
		return;
	r->valued = q->stamp;
	r->incl = r->self = (struct value){ 0 };
	if (r->parent == NO_ID)
		make_root(q, number);
	for (size_t i = 0; i < r->member_count; i++) {
		const struct member *m = &r->members[i];
		const struct value *v = q->inverted ? filter_self(q, m->leaf) : filter_incl(q, m->index);
		value_add(&r->incl, v);
		if (q->inverted ? m->index == m->leaf && m->frame == 0 : m->frame == 0)
			value_add(&r->self, filter_self(q, m->leaf));
		if (i == 0 || live_bytes(&v->tally) > most) {
			most = live_bytes(&v->tally);
			r->heaviest = m->leaf;
		}
	}
}

const struct value *tree_total(struct query *q)
{
	tree_value(q, tree_root(q));
	return &q->rows[tree_root(q)]->incl;
}

/* A row with one child and nothing of its own shows that child on the same line, and so on. */
uint32_t tree_tail(struct query *q, uint32_t number)
{
	uint32_t at = number;

	if (q->rows[number]->unfolded || q->rows[number]->rest)
		return number;
	for (;;) {
		struct trow *r = q->rows[at];
		tree_build(q, at);
		tree_value(q, at);
		if (r->child_count != 1 || r->self.tally.alloc_blocks)
			return at;
		at = r->children[0];
	}
}

void tree_refresh(struct query *q)
{
	owners_refresh(q->o);
	if (q->resets != model_resets(q->m)) {
		tree_clear(q);
		q->resets = model_resets(q->m);
		q->stale = true;
	}
	uint64_t seen = q->seen_changes + model_ticks(q->m) + names_version(q->n);
	if (!q->stale && seen == q->seen_ticks)
		return;
	q->stale = false;
	q->seen_ticks = seen;
	q->stamp++;
	filter_update(q);
	if (!q->inverted)
		return;
	uint32_t leaves = 0, count = model_dense_count(q->m);
	for (uint32_t i = 1; i < count; i++)
		leaves += model_dense(q->m, i, NULL)->self.alloc_blocks != 0;
	q->leaf_count = leaves;
}
