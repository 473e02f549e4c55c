/* SPDX-License-Identifier: MIT
 *
 * inlined.c - shows inlined functions as rows of their own, or merged into the function that they
 * were inlined into.
 *
 * The tree is grouped again from its top, and the old rows are put aside (query/tree/aside.c).
 */
#include "query/tree/inlined.h"
#include "query/tree/aside.h"
#include "query/tree/group.h"
#include "query/tree/place.h"
#include "query/tree/row.h"

static void empty_root(struct query *q, bool inverted)
{
	struct trow *root;

	q->inverted = inverted;
	root = q->rows[row_root(q)];
	for (size_t i = 0; i < root->child_count; i++)
		aside_put(q, root->children[i], inverted);
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
	group_drop(q);
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

/* Builds the tree down to the place where the zoomed row was put aside. False: no step was left. */
bool inlined_find(struct query *q, size_t level)
{
	const struct member *m = &q->zoomed[level];
	uint32_t rows[512];

	while (q->rows[q->zoom[level]]->gone) {
		size_t n = place_rows_of(q, q->inverted ? m->leaf : m->index, rows,
					 sizeof rows / sizeof rows[0]);
		if (!n || row_current(q, q->rows[rows[n - 1]]))
			return true;
		if (!group_build(q, rows[n - 1]))
			return false;
	}
	return true;
}
