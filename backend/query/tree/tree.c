/* SPDX-License-Identifier: MIT
 *
 * tree.c - rows of the call tree: their nodes and the sums of these.
 *
 * A row is summed up in slices; until the end it shows its old values.
 *
 * New nodes walk from the root down to their place, as far as rows are built; so do differences of
 * values. Rows not built yet will be made from their parent's members, which are always complete.
 */
#include "query/internal.h"

#include <stdlib.h>
#include <string.h>

#define ROOT_DOWN 1u
#define ROOT_UP 2u
#define SCANNED_MEMBERS 4096u
/* with more members, the heaviest is searched again only when it has halved */
#define EXACT_MEMBERS 4096u

uint32_t tree_root(const struct query *q)
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

static uint32_t parent_index(const struct query *q, uint32_t index)
{
	return model_dense(q->m, index, NULL)->parent;
}

static void add_member(struct trow *r, struct member m)
{
	r->print += member_print(&m);
	GROW(r->members, r->member_room, r->member_count + 1);
	r->members[r->member_count++] = m;
}

void tree_clear(struct query *q)
{
	ages_forget(q);
	if (q->row_count)
		tree_drop_grouping(q);
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
	add_member(q->rows[ROOT_DOWN], (struct member){ 0, 0, 0 });
}

/* --- what is below */

bool tree_current(const struct query *q, const struct trow *r)
{
	return r->rest || (r->built && !r->stray && r->grouped_at == q->renames);
}

uint64_t tree_version(const struct query *q)
{
	return names_version(q->n) + q->turns;
}

static uint32_t renamed_at(const struct query *q, uint32_t index)
{
	uint32_t loc = names_loc_of(q->n, index),
		 at = loc < q->renamed_room ? q->renamed_at[loc] : 0;

	return at > q->all_renamed_at ? at : q->all_renamed_at;
}

/* A stack's call site depends on the names of all its wrappers, too. */
uint32_t tree_renamed_at(const struct query *q, uint32_t row, const struct member *m)
{
	uint32_t last = renamed_at(q, m->index);

	for (uint32_t i = m->leaf; row == ROOT_UP && i != m->index; i = parent_index(q, i)) {
		uint32_t at = renamed_at(q, i);
		last = at > last ? at : last;
	}
	return last;
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
	for (size_t i = 0; i < r->member_count; i++)
		if (!member_steps(q, &r->members[i], fn, arg))
			return false;
	return true;
}

bool tree_has_children(struct query *q, uint32_t number)
{
	const struct trow *r = q->rows[number];
	bool has = false;

	if (tree_current(q, r))
		return r->child_count != 0;
	each_step(q, r, any, &has);
	return has;
}

bool tree_shown(struct query *q, uint32_t number)
{
	const struct trow *r = q->rows[number];

	return tree_good(q, r) || tree_build(q, number) || r->built;
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
	if (tree_good(q, r) || (r->built && r->member_count > SCANNED_MEMBERS))
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
	if (q->inverted ? r->parent == ROOT_UP : member_innermost(q, m))
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
		if (q->rows[*tail]->self.tally.alloc_blocks)
			return true;
		if (!has_one_child(q, *tail, &one) || (one && !tree_shown(q, *tail)))
			return false;
		if (!one || q->rows[*tail]->child_count != 1)
			return true;
		*tail = q->rows[*tail]->children[0];
	}
}

/* --- what arrives: one walk from a root down to where a node or a stack belongs */

struct walk {
	const struct value *v;
	uint32_t add;   /* dense index of a new member, NO_ID = none */
	uint32_t below; /* it is new below this row only, 0 = everywhere */
	uint32_t *rows; /* rows on the way; NULL: not requested */
	size_t count, room;
};

static void book(struct query *q, uint32_t row, const struct member *m, struct walk *w, bool self)
{
	struct trow *r = q->rows[row];
	const struct value *v = w->v;

	if (w->count < w->room)
		w->rows[w->count++] = row;
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

/* A new member of a row that is being grouped; in the inverted tree the remaining members
 * include it. */
static uint32_t come_late(struct query *q, uint32_t index)
{
	struct grouping *g = &q->grouping;

	if (!q->inverted) {
		GROW(g->late, g->late_room, g->late_count + 1);
		g->late[g->late_count++] = index;
	}
	return 0;
}

/* The child of m, when `row` is grouped by its names; 0 = none. A new member gets one. */
static uint32_t enter_child(struct query *q, uint32_t row, const struct member *m, bool add)
{
	struct trow *r = q->rows[row];
	uint32_t fn = member_fn(q, m);

	if (add && q->grouping.row == row && q->grouping.needed)
		return come_late(q, m->index);
	if (!r->built || r->stray)
		return 0;
	if (tree_renamed_at(q, row, m) > r->grouped_at) {
		/* it is not looked through, so say that it must be grouped */
		if (add && row == ROOT_UP)
			q->sites_moved_at = q->renames;
		return 0;
	}
	uint32_t child = map_get(&q->child_of, child_key(row, fn), 0);
	if (child &&
	    (q->rows[child]->gone || q->rows[child]->fn != fn || q->rows[child]->parent != row))
		child = 0;
	if (!child && add) {
		child = row_new(q, row, fn);
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

static void walk_down(struct query *q, uint32_t index, struct walk *w)
{
	struct member at = { 0, 0, 0 };
	uint32_t row = ROOT_DOWN;
	size_t left = 0;
	uint32_t inner = 0; /* frames of the node that are left */
	bool on = !w->below;

	book(q, row, &at, w, false);
	if ((!q->rows[row]->built || q->rows[row]->stray) && q->grouping.row != row)
		return;
	for (uint32_t i = index; i; i = parent_index(q, i)) {
		GROW(q->path, q->path_room, left + 1);
		q->path[left++] = i;
	}
	while (inner || left) {
		if (inner) {
			at.frame--;
			inner--;
		} else {
			at.index = at.leaf = q->path[--left];
			at.frame = node_frames(q, at.index)->count - 1;
			inner = q->merged ? 0 : at.frame;
		}
		on |= row == w->below;
		row = enter_child(q, row, &at, on && at.index == w->add);
		if (!row)
			return;
		book(q, row, &at, w, !left && !inner);
	}
}

static void walk_up(struct query *q, uint32_t index, struct walk *w)
{
	struct member at = { index, NO_ID, index }, to;
	uint32_t row = ROOT_UP;

	if (w->add == index)
		add_member(q->rows[row], at);
	book(q, row, &at, w, false);
	while (q->rows[row]->built && !q->rows[row]->stray && member_up(q, &at, &to)) {
		at = to;
		row = enter_child(q, row, &at, w->add == index);
		if (!row)
			return;
		book(q, row, &at, w, q->rows[row]->parent == ROOT_UP);
	}
}

void tree_add_nodes(struct query *q)
{
	uint32_t count = model_dense_count(q->m);
	bool inverted = q->inverted;

	q->inverted = false; /* steps are those of the tree that is walked */
	for (; q->down_count < count; q->down_count++)
		walk_down(q, q->down_count, &(struct walk){ .add = q->down_count });
	q->inverted = inverted;
	if (q->up_started)
		GROW_UNTOUCHED(q->up_leaf, q->up_room, count);
}

void tree_add_late(struct query *q, uint32_t row, uint32_t index)
{
	walk_down(q, index, &(struct walk){ .add = index, .below = row });
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
		struct value v;
		if (q->up_leaf[i])
			continue;
		value_of_node(q->m, model_dense(q->m, i, NULL), false, &v);
		if (!v.tally.alloc_blocks)
			continue;
		if (filter_on(q))
			v = *filter_self(q, i);
		q->up_leaf[i] = 1;
		walk_up(q, i, &(struct walk){ .v = &v, .add = i });
	}
	return true;
}

/* The inverted tree skipped this stack while it had allocated nothing. */
static bool fresh_stack(const struct query *q, uint32_t index)
{
	return q->up_started && index < q->up_at && !q->up_leaf[index] &&
	       model_self(q->m, model_dense(q->m, index, NULL)).alloc_blocks;
}

void tree_add_value(struct query *q, uint32_t index, const struct value *v)
{
	bool inverted = q->inverted, fresh = fresh_stack(q, index);

	q->inverted = false;
	walk_down(q, index, &(struct walk){ .v = v, .add = NO_ID });
	q->inverted = true;
	if (fresh)
		q->up_leaf[index] = 1;
	if (q->up_started && index < q->up_at)
		walk_up(q, index, &(struct walk){ .v = v, .add = fresh ? index : NO_ID });
	q->inverted = inverted;
}

void tree_add_stack(struct query *q, uint32_t index)
{
	static const struct value nothing;

	if (fresh_stack(q, index))
		tree_add_value(q, index, &nothing);
}

size_t tree_rows_of(struct query *q, uint32_t index, uint32_t *rows, size_t max)
{
	struct walk w = { .add = NO_ID, .rows = rows, .room = max };

	if (!q->inverted)
		walk_down(q, index, &w);
	else if (q->up_started && index < q->up_at)
		walk_up(q, index, &w);
	return w.count;
}
