/* SPDX-License-Identifier: MIT
 *
 * find.c - opens rows: by hand, all below, along the heaviest, to a node, by a search.
 */
#include "query/answers/rows.h"
#include "query/tree/group.h"
#include "query/tree/members.h"
#include "query/tree/row.h"
#include "query/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#define HITS_OPENED 500u /* parents are opened for so many hits; all are counted */

static struct trow *row_of(const struct query *q, row_id id)
{
	uint32_t number = row_now(q, id);

	return number ? q->rows[number] : NULL;
}

/* The row whose children are shown below the line of `id`. */
static struct trow *tail_of(const struct query *q, row_id id)
{
	struct trow *r = row_of(q, id);
	struct trow *tail = r && r->tail ? row_of(q, r->tail) : NULL;

	return tail ? tail : r; /* names that came may have taken the tail away */
}

int query_open(struct query *q, row_id id, bool open)
{
	query_mine(q);
	struct trow *r = tail_of(q, id);

	if (!r)
		return -1;
	if (r->rest)
		q->rows[r->parent]->more = open;
	r->open = open;
	r->forked = false;
	return 0;
}

static bool is_below(const struct query *q, uint32_t number, uint32_t top)
{
	while (number != top && number != NO_ID)
		number = q->rows[number]->parent;
	return number == top;
}

/* The row and all below it, also those that no answer has grouped lately. */
static void close_all(struct query *q, uint32_t top)
{
	for (uint32_t i = ROOT_DOWN; i < q->row_count; i++)
		if (is_below(q, i, top))
			q->rows[i]->open = q->rows[i]->wanted = q->rows[i]->more =
				q->rows[i]->forked = false;
}

/* Opens the heaviest first, and no row without memory. Returns how many rows are left when the
 * budget is spent. */
static size_t open_all(struct query *q, uint32_t number, size_t *budget)
{
	struct trow *r = q->rows[number];
	size_t left = 0;

	group_build(q, number);
	if (!*budget)
		return r->child_count;
	for (uint32_t i = 0; i < r->child_count; i++)
		tree_value(q, r->children[i]);
	r->open = true;
	rows_sort(q, r);
	for (uint32_t i = 0; i < r->child_count; i++) {
		uint32_t child = r->children[i];
		if (rows_empty(q, child))
			continue;
		if (*budget)
			--*budget;
		left += open_all(q, child, budget);
	}
	return left;
}

size_t query_open_below(struct query *q, row_id id, bool open, size_t limit)
{
	size_t left = 0, budget;

	query_mine(q);
	do {
		tree_now(q);
		uint32_t top = id ? row_now(q, id) : row_root(q);
		if (!top || q->rows[top]->rest)
			return 0;
		budget = limit;
		close_all(q, top);
		if (open)
			left = open_all(q, top, &budget);
		q->rows[row_root(q)]->open = true;
	} while (query_ask(q));
	return left;
}

/* The heaviest of a row's children, which of a NET is the one that changed most; *fork: a second
 * one matters too. 0 = none holds anything. */
static uint32_t heaviest_child(struct query *q, const struct trow *r, bool *fork)
{
	uint32_t best = 0;
	int64_t most = 0, second = 0;

	for (size_t i = 0; i < r->child_count; i++) {
		tree_value(q, r->children[i]);
		int64_t v = llabs(rows_key(q, r->children[i]));
		if (v > most) {
			second = most;
			most = v;
			best = r->children[i];
		} else if (v > second) {
			second = v;
		}
	}
	*fork = second > most / 4;
	return best;
}

static row_id open_heaviest(struct query *q, row_id id)
{
	row_id last = id;
	bool fork = false;
	uint32_t at = id ? row_now(q, id) : row_root(q);

	while (at && !q->rows[at]->rest && !fork) {
		uint32_t tail = q->rows[at]->parent == NO_ID ? at : tree_tail(q, at);
		group_build(q, tail);
		q->rows[at]->tail = tail;
		uint32_t best = heaviest_child(q, q->rows[tail], &fork);
		if (!best)
			break;
		q->rows[tail]->open = true;
		last = at = best;
	}
	return last;
}

row_id query_open_heaviest(struct query *q, row_id id)
{
	row_id last;

	query_mine(q);
	do {
		tree_now(q);
		last = open_heaviest(q, id);
	} while (query_ask(q));
	return last;
}

void query_unfold(struct query *q, row_id id)
{
	query_mine(q);
	uint32_t head = row_now(q, id);

	if (!head)
		return;
	struct trow *r = q->rows[head];
	r->unfolded = !r->unfolded;
	for (uint32_t at = head; r->unfolded && q->rows[at]->child_count == 1;
	     at = q->rows[at]->children[0]) {
		if (at != head && !q->rows[at]->unfolded && at == r->tail)
			break;
		q->rows[at]->open = true;
	}
	r->tail = 0;
}

int query_zoom(struct query *q, row_id id)
{
	query_mine(q);
	if (!id) {
		if (q->zoom_depth) {
			q->zoom_depth--;
			return 0;
		}
		if (!q->zoom_owner_on)
			return -1;
		q->zoom_owner_on = false;
		q->filter_stale = true;
		return 0;
	}
	if (!row_of(q, id) || row_of(q, id)->rest || q->zoom_depth == QUERY_ZOOMS_MAX)
		return -1;
	q->zoom[q->zoom_depth++] = id;
	tail_of(q, id)->open = true;
	return 0;
}

size_t query_zoom_depth(struct query *q)
{
	query_mine(q);
	return q->zoom_depth;
}

int query_zoom_owner(struct query *q, uint32_t module)
{
	query_mine(q);
	q->zoom_owner = module;
	q->zoom_owner_on = true;
	q->filter_stale = true;
	return 0;
}

/* Among rows from the top down, the one whose line shows the last. */
static row_id line_of(struct query *q, const uint32_t *rows, size_t count)
{
	size_t i = 0;

	while (i < count) {
		uint32_t tail = tree_tail(q, rows[i]);
		size_t end = i;
		while (end < count && rows[end] != tail)
			end++;
		if (end + 1 >= count)
			return rows[i];
		i = end + 1;
	}
	return 0;
}

static uint32_t want(struct query *q, uint32_t row)
{
	if (row)
		q->rows[row]->wanted = true;
	return row;
}

/* Node: of the call tree. */
static row_id open_node(struct query *q, uint32_t node)
{
	size_t count = member_path(q, q->inverted, node), n = 0;
	uint32_t *fns = xmalloc((count + 1) * sizeof *fns),
		 *rows = xmalloc((count + 1) * sizeof *rows);
	uint32_t at = row_root(q);

	for (size_t i = 0; i < count; i++)
		fns[i] = member_fn(q, &q->path[i]);
	/* Inverted, the line of its call site. */
	for (size_t i = 0; i < (q->inverted && count ? 1 : count); i++) {
		group_build(q, at);
		uint32_t next = row_child(q, at, fns[i]);
		if (!next)
			break;
		if (!q->inverted)
			q->rows[at]->open = true;
		at = rows[n++] = want(q, next);
	}
	row_id found = q->inverted ? (n ? at : 0) : line_of(q, rows, n);
	free(fns);
	free(rows);
	return found;
}

row_id query_open_node(struct query *q, uint32_t node)
{
	row_id found;

	query_mine(q);
	do {
		tree_now(q);
		uint32_t n = skeleton_find(q->raw->skeleton, node);
		if (n == NO_ID)
			return 0;
		found = open_node(q, n);
	} while (query_ask(q));
	return found;
}

/* By location: there are far fewer of them than nodes. */
static uint8_t *hit_locations(struct query *q, size_t *pending)
{
	const struct heap_names *n = q->raw->names;
	uint8_t *hits = xcalloc(n->locations + 1ul, 1);

	*pending = 0;
	for (uint32_t l = 0; l < n->locations; l++) {
		*pending += n->place[l].pending;
		for (uint32_t f = q->merged ? n->first[l + 1] - 1 : n->first[l];
		     f < n->first[l + 1] && !hits[l]; f++)
			hits[l] = rows_hit(q, n->frames[f].function);
	}
	return hits;
}

static void set_search(struct query *q, const char *text)
{
	struct search *s = &q->search;
	char *copy = *text ? xstrdup(text) : NULL; /* it may be our own */

	free(s->text);
	s->text = copy;
	if (s->hit_room)
		memset(s->hit_of_fn, 0, s->hit_room);
}

static size_t search(struct query *q, size_t *pending)
{
	size_t hits = 0;

	tree_now(q);
	uint8_t *hit = hit_locations(q, pending);
	const struct skeleton *s = q->raw->skeleton;
	for (uint32_t i = 1; i < s->nodes; i++) {
		if (!hit[s->location[i]] || !heap_incl(q->heap, i).alloc_blocks)
			continue;
		if (hits++ < HITS_OPENED && !q->inverted)
			open_node(q, i);
	}
	free(hit);
	return hits;
}

void query_search(struct query *q, const char *text)
{
	query_mine(q);
	set_search(q, text);
}

size_t query_hits(struct query *q, size_t *pending)
{
	*pending = 0;
	if (!q->search.text)
		return 0;
	size_t hits = search(q, pending);
	if (!hits && !query_is_apart(q)) { /* or the snapshot lacks names that are known by now */
		owners_hurry(q->o);
		hits = search(q, pending);
	}
	query_ask(q);
	return hits;
}

row_id query_search_next(struct query *q, row_id from, bool backwards)
{
	const struct shown_rows *s = &q->shown.rows;
	size_t at = query_index(q, from);

	if (!s->count)
		return 0;
	if (at == SIZE_MAX)
		at = backwards ? 0 : s->count - 1;
	for (size_t step = 1; step <= s->count; step++) {
		size_t i = backwards ? (at + s->count - step) % s->count : (at + step) % s->count;
		if (s->rows[i].flags & ROW_HIT)
			return s->rows[i].id;
	}
	return 0;
}
