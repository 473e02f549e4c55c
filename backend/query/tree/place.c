/* SPDX-License-Identifier: MIT
 *
 * place.c - new nodes and changed values find the rows that they belong to.
 *
 * One walk from a root down to where a node or a stack belongs, as far as rows are built. Rows not
 * built yet will be made from their parent's members, which are always complete.
 */
#include "query/tree/place.h"
#include "query/steps.h"
#include "query/tree/members.h"
#include "query/tree/row.h"

/* with more members, the heaviest is searched again only when it has halved */
#define EXACT_MEMBERS 4096u

static uint64_t member_live(struct query *q, const struct member *m)
{
	return live_bytes(&(q->inverted ? filter_self(q, m->leaf) : filter_incl(q, m->index))->sum);
}

struct walk {
	const struct amounts *v;
	uint32_t add;   /* dense index of a new member, NO_ID = none */
	uint32_t below; /* it is new below this row only, 0 = everywhere */
	uint32_t *rows; /* rows on the way; NULL: not requested */
	size_t count, room;
};

static void book(struct query *q, uint32_t row, const struct member *m, struct walk *w, bool self)
{
	struct trow *r = q->rows[row];
	const struct amounts *v = w->v;

	if (w->count < w->room)
		w->rows[w->count++] = row;
	if (!v)
		return;
	if (r->valued != q->stamp) {
		r->summed = 0; /* the member may be in the sum already */
		return;
	}
	amounts_add(&r->incl, v);
	if (self)
		amounts_add(&r->self, v);
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
	if (row_renamed_at(q, row, m) > r->grouped_at) {
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
		row_add_member(q->rows[child], *m);
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
	for (uint32_t i = index; i; i = node_parent(q, i)) {
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
		row_add_member(q->rows[row], at);
	book(q, row, &at, w, false);
	while (q->rows[row]->built && !q->rows[row]->stray && member_up(q, &at, &to)) {
		at = to;
		row = enter_child(q, row, &at, w->add == index);
		if (!row)
			return;
		book(q, row, &at, w, q->rows[row]->parent == ROOT_UP);
	}
}

void place_nodes(struct query *q)
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

void place_late(struct query *q, uint32_t row, uint32_t index)
{
	walk_down(q, index, &(struct walk){ .add = index, .below = row });
}

bool place_stacks(struct query *q)
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
		struct amounts v;
		if (q->up_leaf[i])
			continue;
		amounts_of_node(q->m, model_dense(q->m, i, NULL), false, &v);
		if (!v.sum.alloc_blocks)
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

void place_value(struct query *q, uint32_t index, const struct amounts *v)
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

void place_stack(struct query *q, uint32_t index)
{
	static const struct amounts nothing;

	if (fresh_stack(q, index))
		place_value(q, index, &nothing);
}

size_t place_rows_of(struct query *q, uint32_t index, uint32_t *rows, size_t max)
{
	struct walk w = { .add = NO_ID, .rows = rows, .room = max };

	if (!q->inverted)
		walk_down(q, index, &w);
	else if (q->up_started && index < q->up_at)
		walk_up(q, index, &w);
	return w.count;
}
