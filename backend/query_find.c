/* SPDX-License-Identifier: MIT
 *
 * query_find.c - what is open: by hand, all below, along the heaviest, to a node, by a search.
 */
#include "query_priv.h"

#include <stdlib.h>
#include <string.h>

#define HITS_OPENED 500u /* parents are opened for so many hits; all are counted */

static struct trow *row_of(const struct query *q, row_id id)
{
	return id && id < q->row_count && !q->rows[id]->gone ? q->rows[id] : NULL;
}

/* The row whose children are shown below the line of `id`. */
static struct trow *tail_of(const struct query *q, row_id id)
{
	struct trow *r = row_of(q, id);

	return r && r->tail ? row_of(q, r->tail) : r;
}

int query_open(struct query *q, row_id id, bool open)
{
	struct trow *r = tail_of(q, id);

	if (!r)
		return -1;
	if (r->rest)
		q->rows[r->parent]->more = open;
	r->open = open;
	return 0;
}

static size_t open_all(struct query *q, uint32_t number, bool open, size_t *budget)
{
	size_t left = 0;
	struct trow *r = q->rows[number];

	if (open)
		tree_build(q, number);
	else if (!r->built)
		return 0;
	if (open && !*budget)
		return r->child_count;
	r->open = open;
	for (size_t i = 0; i < q->rows[number]->child_count; i++) {
		if (open && *budget)
			--*budget;
		left += open_all(q, q->rows[number]->children[i], open, budget);
	}
	return left;
}

size_t query_open_below(struct query *q, row_id id, bool open, size_t limit)
{
	uint32_t top = id ? id : tree_root(q);
	size_t left;

	if (!row_of(q, top) || row_of(q, top)->rest)
		return 0;
	tree_refresh(q);
	left = open_all(q, top, open, &limit);
	q->rows[tree_root(q)]->open = true;
	return left;
}

row_id query_open_heaviest(struct query *q, row_id id)
{
	row_id last = id;

	tree_refresh(q);
	for (uint32_t at = id ? id : tree_root(q); row_of(q, at) && !q->rows[at]->rest;) {
		uint32_t tail = q->rows[at]->parent == NO_ID ? at : tree_tail(q, at);
		tree_build(q, tail);
		struct trow *r = q->rows[tail];
		uint32_t best = 0;
		int64_t most = 0, second = 0;
		q->rows[at]->tail = tail;
		for (size_t i = 0; i < r->child_count; i++) {
			tree_value(q, r->children[i]);
			int64_t v = tree_key(q, r->children[i]);
			if (v > most) {
				second = most;
				most = v;
				best = r->children[i];
			} else if (v > second) {
				second = v;
			}
		}
		if (!best)
			break;
		r->open = true;
		last = best;
		/* A fork: the second branch matters too. */
		if (second > most / 4)
			break;
		at = best;
	}
	return last;
}

void query_unfold(struct query *q, row_id id)
{
	struct trow *r = row_of(q, id);

	if (!r)
		return;
	r->unfolded = !r->unfolded;
	for (uint32_t at = id; r->unfolded && q->rows[at]->child_count == 1; at = q->rows[at]->children[0]) {
		if (at != id && !q->rows[at]->unfolded && at == r->tail)
			break;
		q->rows[at]->open = true;
	}
	r->tail = 0;
}

int query_zoom(struct query *q, row_id id)
{
	if (!id) {
		if (q->zoom_depth) {
			q->zoom_depth--;
			return 0;
		}
		if (!q->zoom_owner_on)
			return -1;
		q->zoom_owner_on = false;
		q->stale = true;
		return 0;
	}
	if (!row_of(q, id) || row_of(q, id)->rest || q->zoom_depth == 16)
		return -1;
	q->zoom[q->zoom_depth++] = id;
	tail_of(q, id)->open = true;
	return 0;
}

int query_zoom_owner(struct query *q, uint32_t module)
{
	q->zoom_owner = module;
	q->zoom_owner_on = true;
	q->stale = true;
	return 0;
}

/* The child of `row` that holds `index` (as the leaf it is known by). */
static uint32_t child_with(struct query *q, uint32_t row, uint32_t index)
{
	tree_build(q, row);
	const struct trow *r = q->rows[row];

	for (size_t i = 0; i < r->child_count; i++) {
		const struct trow *c = q->rows[r->children[i]];
		for (size_t k = 0; k < c->member_count; k++)
			if (c->members[k].leaf == index)
				return r->children[i];
	}
	return 0;
}

/* Of rows from the top down, the one on whose line the last is shown. */
static row_id line_of(struct query *q, const uint32_t *rows, size_t count)
{
	size_t i = 0;

	while (i < count) {
		uint32_t tail = tree_tail(q, rows[i]);
		size_t end = i;
		while (end < count && rows[end] != tail)
			end++;
		if (end >= count - 1)
			return rows[i];
		i = end + 1;
	}
	return 0;
}

row_id query_open_node(struct query *q, uint32_t node)
{
	uint32_t *path = NULL, *rows = NULL, at = tree_root(q);
	size_t room = 0, n = 0, row_room = 0, count = 0;
	const struct node *x = model_node(q->m, node);

	tree_refresh(q);
	if (!x || !x->known)
		return 0;
	if (q->inverted)
		return child_with(q, at, x->index);
	for (; x && x->index; x = model_node(q->m, x->parent)) {
		GROW(path, room, n + 1);
		path[n++] = x->index;
	}
	while (n) {
		uint32_t next = child_with(q, at, path[n - 1]);
		if (!next)
			break;
		q->rows[at]->open = true;
		at = next;
		GROW(rows, row_room, count + 1);
		rows[count++] = at;
		/* Stay on a node until its innermost frame. */
		if (q->rows[at]->members[0].frame == 0)
			n--;
	}
	row_id found = line_of(q, rows, count);
	free(path);
	free(rows);
	return found;
}

/* --- search */

static bool loc_hits(struct query *q, const struct name_loc *l, const char *text)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const struct name_fn *f = names_fn(q->n, l->frames[i].fn);
		if (text_has(f->function, text) || text_has(f->name, text))
			return true;
	}
	return false;
}

static size_t open_hits(struct query *q, uint32_t first_node, size_t hits)
{
	for (uint32_t i = first_node; i != NO_ID; i = names_next_node(q->n, i)) {
		uint32_t id;
		if (!filter_incl(q, i)->tally.alloc_blocks)
			continue;
		model_dense(q->m, i, &id);
		if (hits++ < HITS_OPENED && !q->inverted)
			query_open_node(q, id);
	}
	return hits;
}

/* By location, of which there are far fewer than nodes. */
size_t query_search(struct query *q, const char *text, size_t *pending)
{
	size_t hits = 0;

	tree_refresh(q);
	free(q->search);
	q->search = *text ? xstrdup(text) : NULL;
	if (q->hit_room)
		memset(q->hit_of_fn, 0, q->hit_room);
	*pending = 0;
	for (uint32_t loc = 0; q->search && loc < names_loc_count(q->n); loc++) {
		const struct name_loc *l = names_loc(q->n, loc);
		*pending += l->source == SYMBOL_PENDING && l->kind <= MTW_NODE_SIGNAL;
		if (loc_hits(q, l, text))
			hits = open_hits(q, l->first_node, hits);
	}
	return hits;
}

row_id query_search_next(struct query *q, row_id from, bool backwards)
{
	size_t at = query_index(q, from);

	if (!q->out_count)
		return 0;
	if (at == SIZE_MAX)
		at = backwards ? 0 : q->out_count - 1;
	for (size_t step = 1; step <= q->out_count; step++) {
		size_t i = backwards ? (at + q->out_count - step) % q->out_count : (at + step) % q->out_count;
		if (q->out[i].flags & ROW_HIT)
			return q->out[i].id;
	}
	return 0;
}
