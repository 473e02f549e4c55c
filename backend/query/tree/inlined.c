/* SPDX-License-Identifier: MIT
 *
 * inlined.c - shows inlined functions as rows of their own, or merged into the function that they
 * were inlined into.
 *
 * The tree is grouped again from its top. The old rows are put aside under their function and
 * nodes. A new row that matches one takes its number, so that open, selected and zoomed rows stay
 * so wherever their function still has a row. Rows without a match stay aside until they have one.
 */
#include "query/internal.h"

#define LOOKED_AT 4096u /* members of a new row, for the one that it was */

static uint64_t key_of(bool inverted, uint32_t fn, const struct member *m)
{
	return hash_mix(hash_mix((uint64_t)fn * 2 + inverted) ^
			((uint64_t)m->index << 32 | m->leaf));
}

/* A chain was one line, open or closed like its end: its remaining parts get the same state. */
static void agree(struct query *q, uint32_t head)
{
	uint32_t tail = q->rows[head]->tail, at = tail;

	if (!tail || q->rows[tail]->gone)
		return;
	while (at != head && q->rows[at]->parent != NO_ID)
		at = q->rows[at]->parent;
	for (; at == head && tail != head; tail = q->rows[tail]->parent)
		q->rows[q->rows[tail]->parent]->open = q->rows[tail]->open;
}

static void put_aside(struct query *q, uint32_t number, bool inverted)
{
	struct trow *r = q->rows[number];

	agree(q, number);
	for (size_t i = 0; i < r->child_count; i++)
		put_aside(q, r->children[i], inverted);
	for (size_t k = 0; k < r->member_count && k < KNOWN_BY; k++)
		map_set(&q->aside, key_of(inverted, r->fn, &r->members[k]), number);
	r->heir = r->open; /* what is inlined into an open one is open */
	r->built = false;
	r->tail = 0;
}

static void empty_root(struct query *q, bool inverted)
{
	struct trow *root;

	q->inverted = inverted;
	root = q->rows[tree_root(q)];
	for (size_t i = 0; i < root->child_count; i++)
		put_aside(q, root->children[i], inverted);
	for (size_t i = 0; i < root->child_count; i++)
		row_drop(q, root->children[i]);
	root->child_count = 0;
	root->built = false; /* until it is, what is shown stays */
}

void query_set_inlined(struct query *q, bool on)
{
	bool inverted = q->inverted;

	if (q->merged == !on)
		return;
	for (size_t i = 0; i < q->zoom_depth; i++)
		if (q->rows[q->zoom[i]]->member_count)
			q->zoomed[i] = q->rows[q->zoom[i]]->members[0];
	tree_drop_grouping(q);
	empty_root(q, false);
	empty_root(q, true);
	q->inverted = inverted;
	q->merged = !on;
	q->turns++;
	q->stamp++; /* a row's own amount changes */
	q->passing++;
}

bool query_inlined(const struct query *q)
{
	return !q->merged;
}

uint32_t aside_take(struct query *q, uint32_t parent, const struct group *p)
{
	uint32_t found = 0;

	for (size_t i = 0; q->aside.count && i < p->count && i < LOOKED_AT; i++) {
		uint32_t row = map_get(&q->aside, key_of(q->inverted, p->fn, &p->members[i]), 0);
		if (!row || row == found || !q->rows[row]->gone)
			continue;
		if (found) { /* two that are one now */
			q->rows[found]->open |= q->rows[row]->open;
			q->rows[found]->more |= q->rows[row]->more;
			continue;
		}
		found = row;
	}
	if (found) {
		q->rows[found]->gone = false;
		q->rows[found]->parent = parent;
	}
	return found;
}

/* Builds the tree down to the place where the zoomed row was put aside. False: no step was left. */
bool aside_find(struct query *q, size_t level)
{
	const struct member *m = &q->zoomed[level];
	uint32_t rows[512];

	while (q->rows[q->zoom[level]]->gone) {
		size_t n = tree_rows_of(q, q->inverted ? m->leaf : m->index, rows,
					sizeof rows / sizeof rows[0]);
		if (!n || tree_current(q, q->rows[rows[n - 1]]))
			return true;
		if (!tree_build(q, rows[n - 1]))
			return false;
	}
	return true;
}
