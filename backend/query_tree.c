/* SPDX-License-Identifier: MIT
 *
 * query_tree.c - rows of the call tree: which nodes they stand for, and what these add up to.
 *
 * Top-down, a member steps from a frame to the next inner one: first through the inlined frames
 * of its node, then to each child node. Inverted, a member starts at the call site of a stack
 * (owner.h: its allocation wrappers are left out) and steps outwards, and every row's value is what
 * its members' leaves allocated themselves.
 *
 * A row's children are grouped by function when somebody looks, and again after names arrived. A
 * new group takes over the row of the old child that it shares a node with: its number, what is
 * open below it, and its place on screen. When a row turns out to be several, of functions inlined
 * into each other, its old children are handed on to where their nodes are now.
 *
 * A row is grouped, and summed up, in slices; until it is, it keeps the children that it has.
 *
 * New nodes walk from the root down to where they belong, as far as rows are built; so do
 * differences of values. What is not built yet will be made of its parent's members, which are
 * always whole.
 */
#include "query_priv.h"

#include <stdlib.h>
#include <string.h>

#define ROOT_DOWN 1u
#define ROOT_UP 2u
#define SCANNED_MEMBERS 4096u
/* With more, the heaviest member is looked for again only when it halved. */
#define EXACT_MEMBERS 4096u

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

static void drop_row(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];

	for (size_t i = 0; i < r->child_count; i++)
		drop_row(q, r->children[i]);
	free(r->members);
	free(r->children);
	r->members = NULL;
	r->children = NULL;
	r->member_count = r->member_room = r->child_count = r->child_room = 0;
	r->gone = true;
}

static void add_member(struct trow *r, struct member m)
{
	GROW(r->members, r->member_room, r->member_count + 1);
	r->members[r->member_count++] = m;
}

void tree_clear(struct query *q)
{
	for (size_t i = 0; i < q->row_count; i++) {
		free(q->rows[i]->members);
		free(q->rows[i]->children);
		free(q->rows[i]);
	}
	q->row_count = 0;
	q->shown.count = 0;
	q->zoom_depth = 0;
	q->down_count = q->up_at = 1;
	tree_drop_grouping(q);
	map_clear(&q->child_of);
	if (q->up_room)
		memset(q->up_leaf, 0, q->up_room);
	new_row(q, NO_ID, NO_ID); /* number 0 is no row */
	new_row(q, NO_ID, NO_ID);
	new_row(q, NO_ID, NO_ID);
	q->rows[ROOT_DOWN]->open = q->rows[ROOT_UP]->open = true;
	add_member(q->rows[ROOT_DOWN], (struct member){ 0, 0, 0 });
}

/* --- steps */

/* A location's frames. */
static const struct name_loc *loc_of(struct query *q, uint32_t index)
{
	return names_loc(q->n, names_loc_of(q->n, index));
}

static uint32_t fn_of(struct query *q, const struct member *m)
{
	const struct name_loc *l = loc_of(q, m->index);

	return l->frames[m->frame < l->count ? m->frame : l->count - 1].fn;
}

typedef bool (*step_fn)(struct query *q, void *arg, const struct member *m); /* false: enough */

static bool step_down(struct query *q, const struct member *m, step_fn fn, void *arg)
{
	struct member to = { m->index, m->frame - 1, m->index };

	if (m->index && m->frame > 0)
		return fn(q, arg, &to);
	uint32_t child = model_dense(q->m, m->index, NULL)->first_child;
	while (child != NO_ID) {
		const struct node *c = model_node(q->m, child);
		to = (struct member){ c->index, loc_of(q, c->index)->count - 1, c->index };
		if (!fn(q, arg, &to))
			return false;
		child = c->next_sibling;
	}
	return true;
}

static void to_call_site(struct query *q, const struct member *m, struct member *to)
{
	uint32_t frame, index = owners_site_of_index(q->o, m->leaf, &frame);

	*to = (struct member){ index, frame < loc_of(q, index)->count ? frame : 0, m->leaf };
}

/* The one step outwards, or false at the end. */
static bool next_up(struct query *q, const struct member *m, struct member *to)
{
	if (m->frame == NO_ID) {
		to_call_site(q, m, to);
		return true;
	}
	*to = (struct member){ m->index, m->frame + 1, m->leaf };
	if (to->frame < loc_of(q, m->index)->count)
		return true;
	const struct node *n = model_dense(q->m, m->index, NULL);
	const struct node *p = n->parent == NO_ID ? NULL : model_node(q->m, n->parent);
	*to = (struct member){ p ? p->index : 0, 0, m->leaf };
	return p && p->index;
}

static bool member_steps(struct query *q, const struct member *m, step_fn fn, void *arg)
{
	struct member to;

	if (!q->inverted)
		return step_down(q, m, fn, arg);
	return !next_up(q, m, &to) || fn(q, arg, &to);
}

static bool each_step(struct query *q, const struct trow *r, step_fn fn, void *arg)
{
	for (size_t i = 0; i < r->member_count; i++)
		if (!member_steps(q, &r->members[i], fn, arg))
			return false;
	return true;
}

/* --- grouping */

#define KNOWN_BY 8u /* members of an old child that it is recognised by */

static uint64_t child_key(uint32_t row, uint32_t fn)
{
	return (uint64_t)row << 32 | fn;
}

static bool candidate(struct query *q, void *arg, const struct member *m)
{
	struct grouping *g = arg;
	uint32_t fn = fn_of(q, m);

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
	uint32_t known = map_get(&g->known, m->leaf, NO_ID);
	if (known != NO_ID)
		g->found[known] = at;
	if (q->inverted || m->frame + 1 >= loc_of(q, m->index)->count)
		return true;
	p->inlined = true;
	known = map_get(&g->parents, m->index, NO_ID);
	if (known != NO_ID)
		g->parent_found[known] = at;
	return true;
}

static uint32_t parent_of(struct query *q, uint32_t index)
{
	return model_node(q->m, model_dense(q->m, index, NULL)->parent)->index;
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
			map_set(&g->parents, parent_of(q, c->members[0].index), (uint32_t)i);
	}
}

static void adopt(struct query *q, uint32_t number, uint32_t child)
{
	struct trow *r = q->rows[number];

	GROW(r->children, r->child_room, r->child_count + 1);
	r->children[r->child_count++] = child;
	q->rows[child]->parent = number;
}

/* Two old children are one now: what was open in either is open in `to`, which is grouped anew. */
static void join(struct query *q, uint32_t to, uint32_t from)
{
	struct trow *r = q->rows[to], *f = q->rows[from];

	r->open |= f->open;
	r->more |= f->more;
	for (size_t i = 0; i < f->child_count; i++)
		adopt(q, to, f->children[i]);
	f->child_count = 0;
	drop_row(q, from);
}

/* Of children that became one, the one that is open goes on, with its number. */
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

/* Old children keep number and order where a group holds the node that they were known by. */
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
				: map_get(&g->parents, parent_of(q, c->members[0].index), NO_ID);
		g->orphans[g->orphan_count++] = child;
	}
	r->child_count = kept;
}

/* To the row that its nodes are below now, which matches it when it is built; or it goes. */
static void hand_on(struct query *q, struct grouping *g)
{
	for (size_t i = 0; i < g->orphan_count; i++) {
		uint32_t node = g->orphan_nodes[i],
			 at = node == NO_ID ? NO_ID : g->parent_found[node];
		if (at == NO_ID) {
			drop_row(q, g->orphans[i]);
			continue;
		}
		adopt(q, g->groups[at].row, g->orphans[i]);
	}
}

static void take_groups(struct query *q, uint32_t number, struct grouping *g, bool renamed)
{
	struct trow *r = q->rows[number];

	for (size_t i = 0; i < g->group_count; i++) {
		struct group *p = &g->groups[i];
		if (!p->row) {
			p->row = new_row(q, number, p->fn);
			/* What was one open row may have become a chain of inlined ones. */
			q->rows[p->row]->open = q->rows[p->row]->heir =
				p->inlined && r->open && renamed;
			GROW(r->children, r->child_room, r->child_count + 1);
			r->children[r->child_count++] = p->row;
		}
		struct trow *c = q->rows[p->row];
		c->fn = p->fn;
		free(c->members);
		c->members = p->members;
		c->member_count = p->count;
		c->member_room = p->room;
		p->members = NULL;
		c->valued = c->summed = 0;
		c->built_version = UINT64_MAX; /* its children follow from other members now */
		map_set(&q->child_of, child_key(number, p->fn), p->row);
	}
}

/* Children are grouped by the names that are known now. */
static bool is_current(const struct query *q, const struct trow *r)
{
	return r->rest || (r->built && r->built_version == names_version(q->n));
}

void tree_drop_grouping(struct query *q)
{
	struct grouping *g = &q->grouping;

	for (size_t i = 0; i < g->group_count; i++)
		free(g->groups[i].members);
	free(g->groups);
	free(g->found);
	free(g->parent_found);
	free(g->orphans);
	free(g->orphan_nodes);
	map_release(&g->by_fn);
	map_release(&g->known);
	map_release(&g->parents);
	*g = (struct grouping){ 0 };
}

/*
 * One row at a time: the first that is met goes on being grouped, as no step is left for others
 * until it is done. Names that come meanwhile are for the next time: built_version is then an old
 * one. When steps are not counted, that is now.
 */
bool tree_build(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];
	struct grouping *g = &q->grouping;

	if (is_current(q, r))
		return true;
	if (g->row != number) {
		if (!take_step(q))
			return false;
		tree_drop_grouping(q);
		g->row = number;
		g->version = names_version(q->n);
		know_old(q, r, g);
	}
	for (; g->at < r->member_count; g->at++) {
		if (!take_step(q))
			return false;
		member_steps(q, &r->members[g->at], candidate, g);
	}
	match_old(q, r, g);
	take_groups(q, number, g, r->built || r->heir);
	hand_on(q, g);
	r->built = true;
	r->built_version = g->version;
	tree_drop_grouping(q);
	return q->allowed != SIZE_MAX || tree_build(q, number);
}

static bool any(struct query *q, void *arg, const struct member *m)
{
	(void)q;
	(void)m;
	*(bool *)arg = true;
	return false;
}

bool tree_has_children(struct query *q, uint32_t number)
{
	const struct trow *r = q->rows[number];
	bool has = false;

	if (is_current(q, r))
		return r->child_count != 0;
	each_step(q, r, any, &has);
	return has;
}

static bool another(struct query *q, void *arg, const struct member *m)
{
	uint32_t *fn = arg, this = fn_of(q, m);

	if (*fn == NO_ID)
		*fn = this;
	return *fn == this;
}

/* Without building what will not be shown, unless looking costs as much. False: no step left. */
static bool has_one_child(struct query *q, uint32_t number, bool *one)
{
	const struct trow *r = q->rows[number];
	uint32_t fn = NO_ID;

	if (r->member_count > SCANNED_MEMBERS && !tree_build(q, number))
		return false;
	if (is_current(q, r))
		*one = r->child_count == 1;
	else
		*one = each_step(q, r, another, &fn) && fn != NO_ID;
	return true;
}

/* --- values */

static uint64_t member_live(struct query *q, const struct member *m)
{
	return live_bytes(
		&(q->inverted ? filter_self(q, m->leaf) : filter_incl(q, m->index))->tally);
}

static void sum_member(struct query *q, struct trow *r, const struct member *m, bool first)
{
	const struct value *v = q->inverted ? filter_self(q, m->leaf) : filter_incl(q, m->index);
	uint64_t live = live_bytes(&v->tally);

	value_add(&r->incl, v);
	if (first || live > r->most) {
		r->most = live;
		r->heavy = *m;
	}
	if (q->inverted ? r->parent == ROOT_UP : m->frame == 0)
		value_add(&r->self, filter_self(q, m->leaf));
}

bool tree_value(struct query *q, uint32_t number)
{
	struct trow *r = q->rows[number];

	if (r->valued == q->stamp)
		return true;
	if (!r->summed || r->summing != q->stamp) {
		r->incl = r->self = (struct value){ 0 };
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

/* A row with one child and nothing of its own shows that child on the same line, and so on. */
bool tree_tail(struct query *q, uint32_t number, uint32_t *tail)
{
	bool one;

	*tail = number;
	if (q->rows[number]->unfolded || q->rows[number]->rest)
		return true;
	for (;;) {
		if (!tree_value(q, *tail))
			return false;
		if (q->rows[*tail]->self.tally.alloc_blocks)
			return true;
		if (!has_one_child(q, *tail, &one) || (one && !tree_build(q, *tail)))
			return false;
		if (!one || q->rows[*tail]->child_count != 1)
			return true;
		*tail = q->rows[*tail]->children[0];
	}
}

/* --- what arrives: one walk from a root down to where a node or a stack belongs */

struct walk {
	const struct value *v;
	uint32_t add; /* dense index of a new member, NO_ID = none */
};

static void book(struct query *q, uint32_t row, const struct member *m, const struct value *v,
		 bool self)
{
	struct trow *r = q->rows[row];

	if (!v)
		return;
	if (r->valued != q->stamp) {
		r->summed = 0; /* the member may be in the sum already */
		return;
	}
	value_add(&r->incl, v);
	if (self)
		value_add(&r->self, v);
	uint64_t live = member_live(q, m);
	bool heavy = m->leaf == r->heavy.leaf && r->member_count;
	if (heavy && live < r->most && r->member_count > 1 &&
	    (r->member_count <= EXACT_MEMBERS || live < r->most / 2)) {
		r->valued = 0;
	} else if (heavy || live > r->most) {
		r->most = live > r->most || r->member_count == 1 ? live : r->most;
		r->heavy = *m;
	}
}

/* The child that m belongs to, when `row` is grouped; 0 = none. A new member gets one. */
static uint32_t enter_child(struct query *q, uint32_t row, const struct member *m, bool add)
{
	struct trow *r = q->rows[row];
	uint32_t fn = fn_of(q, m);

	if (!is_current(q, r))
		return 0;
	uint32_t child = map_get(&q->child_of, child_key(row, fn), 0);
	if (child &&
	    (q->rows[child]->gone || q->rows[child]->fn != fn || q->rows[child]->parent != row))
		child = 0;
	if (!child && add) {
		child = new_row(q, row, fn);
		GROW(r->children, r->child_room, r->child_count + 1);
		r->children[r->child_count++] = child;
		map_set(&q->child_of, child_key(row, fn), child);
	}
	if (child && add) {
		if (!q->rows[child]->member_count)
			q->rows[child]->heavy = *m;
		add_member(q->rows[child], *m);
	}
	return child;
}

static void walk_down(struct query *q, uint32_t index, const struct walk *w)
{
	struct member at = { 0, 0, 0 };
	uint32_t row = ROOT_DOWN;
	size_t left = 0;

	book(q, row, &at, w->v, false);
	if (!is_current(q, q->rows[row]))
		return;
	for (uint32_t i = index; i;
	     i = model_node(q->m, model_dense(q->m, i, NULL)->parent)->index) {
		GROW(q->path, q->path_room, left + 1);
		q->path[left++] = i;
	}
	while (at.frame || left) {
		if (at.frame) {
			at.frame--;
		} else {
			at.index = at.leaf = q->path[--left];
			at.frame = loc_of(q, at.index)->count - 1;
		}
		row = enter_child(q, row, &at, at.index == w->add);
		if (!row)
			return;
		book(q, row, &at, w->v, !left && !at.frame);
	}
}

static void walk_up(struct query *q, uint32_t index, const struct walk *w)
{
	struct member at = { index, NO_ID, index }, to;
	uint32_t row = ROOT_UP;

	if (w->add == index)
		add_member(q->rows[row], at);
	book(q, row, &at, w->v, false);
	while (is_current(q, q->rows[row]) && next_up(q, &at, &to)) {
		at = to;
		row = enter_child(q, row, &at, w->add == index);
		if (!row)
			return;
		book(q, row, &at, w->v, q->rows[row]->parent == ROOT_UP);
	}
}

void tree_add_nodes(struct query *q)
{
	uint32_t count = model_dense_count(q->m);
	bool inverted = q->inverted;

	q->inverted = false; /* steps are those of the tree that is walked */
	for (; q->down_count < count; q->down_count++)
		walk_down(q, q->down_count, &(struct walk){ NULL, q->down_count });
	q->inverted = inverted;
	if (q->up_started)
		GROW_UNTOUCHED(q->up_leaf, q->up_room, count);
}

bool tree_add_stacks(struct query *q)
{
	uint32_t count = model_dense_count(q->m);

	if (!q->up_started) {
		q->up_started = true;
		q->up_at = 1;
	}
	GROW_UNTOUCHED(q->up_leaf, q->up_room, count);
	for (; q->up_at < count; q->up_at++) {
		uint32_t i = q->up_at;
		if (i % NODES_A_STEP == 0 && !take_step(q))
			return false;
		if (q->up_leaf[i] || !model_dense(q->m, i, NULL)->self.alloc_blocks)
			continue;
		struct value v = *filter_self(q, i);
		q->up_leaf[i] = 1;
		walk_up(q, i, &(struct walk){ &v, i });
	}
	return true;
}

void tree_add_value(struct query *q, uint32_t index, const struct value *v)
{
	bool inverted = q->inverted, up = q->up_started && index < q->up_at;
	bool fresh = up && !q->up_leaf[index] && model_dense(q->m, index, NULL)->self.alloc_blocks;

	q->inverted = false;
	walk_down(q, index, &(struct walk){ v, NO_ID });
	q->inverted = true;
	if (fresh)
		q->up_leaf[index] = 1;
	if (up)
		walk_up(q, index, &(struct walk){ v, fresh ? index : NO_ID });
	q->inverted = inverted;
}
