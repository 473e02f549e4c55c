/* SPDX-License-Identifier: MIT
 *
 * group.c - the children of a row of the call tree: its members' steps, grouped by function.
 *
 * They are grouped when a reader asks, and again when a location that they step to was renamed. A
 * new group takes over the row of the old child that it shares a node with: its number, the open
 * rows below it, and its place on screen. When a row splits into functions inlined into each other,
 * its old children move to where their nodes are now.
 *
 * A row is grouped in slices and keeps its old children until the end. While names keep arriving, a
 * row of very many members is grouped once a second.
 */
#include "query/tree/group.h"
#include "query/steps.h"
#include "query/tree/aside.h"
#include "query/tree/members.h"
#include "query/tree/place.h"
#include "query/tree/row.h"

#include <stdlib.h>

#define LARGE_MEMBERS 4096u

static bool candidate(struct query *q, void *arg, const struct member *m)
{
	struct grouping *g = arg;
	const struct trow *r = q->rows[g->row];
	uint32_t fn = member_fn(q, m);

	if (m->index >= g->nodes && !q->inverted)
		return true; /* one of the late ones */
	spend_steps(q, 1);
	uint32_t at = map_get(&g->by_fn, fn, NO_ID);

	if (at == NO_ID) {
		at = (uint32_t)g->group_count;
		GROW(g->groups, g->group_room, g->group_count + 1);
		g->groups[g->group_count++] = (struct group){ .fn = fn };
		map_set(&g->by_fn, fn, at);
	}
	struct group *p = &g->groups[at];
	GROW(p->members, p->room, p->count + 1);
	p->members[p->count++] = *m;
	p->print += member_print(m);
	p->renamed |= !r->built || r->stray || row_renamed_at(q, g->row, m) > r->grouped_at;
	uint32_t known = map_get(&g->known, m->leaf, NO_ID);
	if (known != NO_ID)
		g->found[known] = at;
	if (q->inverted || m->frame + 1 >= node_frames(q, m->index)->count)
		return true;
	p->inlined = true;
	known = map_get(&g->parents, m->index, NO_ID);
	if (known != NO_ID)
		g->parent_found[known] = at;
	return true;
}

static void know_old(struct query *q, const struct trow *r, struct grouping *g)
{
	size_t size = r->child_count * KNOWN_BY;

	g->found = xmalloc((size + 1) * sizeof *g->found);
	g->parent_found = xmalloc((r->child_count + 1) * sizeof *g->parent_found);
	g->orphans = xmalloc((r->child_count + 1) * sizeof *g->orphans);
	g->orphan_nodes = xmalloc((r->child_count + 1) * sizeof *g->orphan_nodes);
	for (size_t i = 0; i < size; i++)
		g->found[i] = NO_ID;
	for (size_t i = 0; i < r->child_count; i++) {
		const struct trow *c = q->rows[r->children[i]];
		g->parent_found[i] = NO_ID;
		for (size_t k = 0; k < c->member_count && k < KNOWN_BY; k++)
			map_set(&g->known, c->members[k].leaf, (uint32_t)(i * KNOWN_BY + k));
		if (!q->inverted && c->member_count)
			map_set(&g->parents, node_parent(q, c->members[0].index), (uint32_t)i);
	}
}

static void adopt(struct query *q, uint32_t number, uint32_t child)
{
	struct trow *r = q->rows[number];

	GROW(r->children, r->child_room, r->child_count + 1);
	r->children[r->child_count++] = child;
	q->rows[child]->parent = number;
}

/* Joins two old children: rows open in either are open in `to`, which is grouped again. */
static void join(struct query *q, uint32_t to, uint32_t from)
{
	struct trow *r = q->rows[to], *f = q->rows[from];

	r->open |= f->open;
	r->more |= f->more;
	for (size_t i = 0; i < f->child_count; i++)
		adopt(q, to, f->children[i]);
	f->child_count = 0;
	row_drop(q, from);
}

/* When children are joined, the open one stays, with its number. */
static void prefer_open(struct query *q, const struct trow *r, struct grouping *g)
{
	for (size_t i = 0; i < r->child_count; i++) {
		const struct trow *c = q->rows[r->children[i]];
		bool open = c->open || (c->tail && q->rows[c->tail]->open);
		for (size_t k = 0; k < KNOWN_BY && open; k++) {
			uint32_t at = g->found[i * KNOWN_BY + k];
			if (at != NO_ID && !g->groups[at].row)
				g->groups[at].row = r->children[i];
			open = at == NO_ID;
		}
	}
}

/* Old children keep number and order where a group has the node that identified them. */
static void match_old(struct query *q, struct trow *r, struct grouping *g)
{
	size_t kept = 0;

	prefer_open(q, r, g);
	for (size_t i = 0; i < r->child_count; i++) {
		uint32_t child = r->children[i], at = NO_ID;
		const struct trow *c = q->rows[child];
		for (size_t k = 0; k < KNOWN_BY && at == NO_ID; k++)
			at = g->found[i * KNOWN_BY + k];
		if (at != NO_ID && (!g->groups[at].row || g->groups[at].row == child)) {
			g->groups[at].row = r->children[kept++] = child;
			continue;
		}
		if (at != NO_ID) {
			join(q, g->groups[at].row, child);
			continue;
		}
		g->orphan_nodes[g->orphan_count] =
			q->inverted || !c->member_count
				? NO_ID
				: map_get(&g->parents, node_parent(q, c->members[0].index), NO_ID);
		g->orphans[g->orphan_count++] = child;
	}
	r->child_count = kept;
}

/* Passes an old child to the row that has its nodes now, which matches it when built; otherwise
 * drops it. */
static void hand_on(struct query *q, struct grouping *g)
{
	for (size_t i = 0; i < g->orphan_count; i++) {
		uint32_t node = g->orphan_nodes[i],
			 at = node == NO_ID ? NO_ID : g->parent_found[node];
		if (at == NO_ID) {
			row_drop(q, g->orphans[i]);
			continue;
		}
		adopt(q, g->groups[at].row, g->orphans[i]);
	}
}

/* If the members are unchanged, keeps everything computed from them. */
static void take_members(struct trow *c, struct group *p)
{
	c->fn = p->fn;
	if (!p->renamed && c->member_count == p->count && c->print == p->print)
		return;
	free(c->members);
	c->members = p->members;
	c->member_count = p->count;
	c->member_room = p->room;
	c->print = p->print;
	p->members = NULL;
	c->valued = c->summed = 0;
	c->stray = true;
}

static void take_groups(struct query *q, uint32_t number, struct grouping *g, bool renamed)
{
	struct trow *r = q->rows[number];

	for (size_t i = 0; i < g->group_count; i++) {
		struct group *p = &g->groups[i];
		if (!p->row) {
			uint32_t aside = aside_take(q, number, p);
			p->row = aside ? aside : row_new(q, number, p->fn);
			/* What was one open row may have become a chain of inlined ones. */
			bool heir = p->inlined && r->open && renamed;
			q->rows[p->row]->open |= heir;
			q->rows[p->row]->heir |= heir;
			GROW(r->children, r->child_room, r->child_count + 1);
			r->children[r->child_count++] = p->row;
		}
		take_members(q->rows[p->row], p);
		map_set(&q->child_of, child_key(number, p->fn), p->row);
	}
}

void group_drop(struct query *q)
{
	struct grouping *g = &q->grouping;

	if (g->late_count) /* it never got them */
		q->rows[g->row]->stray = true;
	for (size_t i = 0; i < g->group_count; i++)
		free(g->groups[i].members);
	free(g->groups);
	free(g->late);
	free(g->found);
	free(g->parent_found);
	free(g->orphans);
	free(g->orphan_nodes);
	map_release(&g->by_fn);
	map_release(&g->known);
	map_release(&g->parents);
	*g = (struct grouping){ 0 };
}

static bool renamed(struct query *q, void *arg, const struct member *m)
{
	struct grouping *g = arg;

	spend_steps(q, 1);
	g->needed = row_renamed_at(q, g->row, m) > q->rows[g->row]->grouped_at;
	return !g->needed;
}

/* Do the row's steps lead to renamed locations? False: no step was left. */
static bool look_through(struct query *q, const struct trow *r, struct grouping *g)
{
	if (!r->built || r->stray)
		g->needed = true;
	else if (r->parent == NO_ID && q->inverted)
		g->needed = q->sites_moved_at > r->grouped_at;
	else
		for (; g->seen < r->member_count && !g->needed; g->seen++) {
			if (!take_step(q))
				return false;
			member_steps(q, &r->members[g->seen], renamed, g);
		}
	return true;
}

static bool group(struct query *q, struct trow *r, struct grouping *g)
{
	if (!g->found) {
		g->version = q->renames;
		g->nodes = q->down_count;
		know_old(q, r, g);
	}
	for (; g->at < r->member_count; g->at++) {
		if (!take_step(q))
			return false;
		member_steps(q, &r->members[g->at], candidate, g);
	}
	match_old(q, r, g);
	take_groups(q, g->row, g, r->built || r->heir);
	hand_on(q, g);
	r->built = true;
	r->stray = false;
	r->grouped_ns = r->member_count > LARGE_MEMBERS ? now_ns() : 0;
	return true;
}

static void begin(struct query *q, uint32_t number)
{
	struct grouping *g = &q->grouping;

	group_drop(q);
	g->row = number;
	g->version = q->renames;
}

static void finish(struct query *q, struct trow *r)
{
	struct grouping *g = &q->grouping;
	uint32_t *late = g->late, row = g->row;
	size_t count = g->late_count;

	r->grouped_at = g->version;
	g->late = NULL;
	g->late_count = 0;
	group_drop(q);
	for (size_t i = 0; i < count; i++)
		place_late(q, row, late[i]);
	free(late);
}

bool group_good(const struct query *q, const struct trow *r)
{
	return row_current(q, r) || (r->built && r->member_count > LARGE_MEMBERS &&
				     steps_wait_for_names(q, r->grouped_ns));
}

/* Groups one row at a time: the others get no step until it is done. Names that arrive meanwhile
 * wait for the next time; without a step limit, that is now. */
bool group_build(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];
	struct grouping *g = &q->grouping;

	if (row_current(q, r))
		return true;
	if (g->row != number) {
		if (!take_step(q))
			return false;
		begin(q, number);
	}
	if (!look_through(q, r, g) || (g->needed && !group(q, r, g)))
		return false;
	finish(q, r);
	return q->allowed != SIZE_MAX || group_build(q, number);
}
