/* SPDX-License-Identifier: MIT
 *
 * find.c - opens rows: by hand, all below, along the heaviest, to a node, by a search.
 */
#include "query/answers/rows.h"
#include "query/feed/feed.h"
#include "query/steps.h"
#include "query/tree/group.h"
#include "query/tree/members.h"
#include "query/tree/row.h"
#include "query/tree/tree.h"

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
	struct trow *tail = r && r->tail ? row_of(q, r->tail) : NULL;

	return tail ? tail : r; /* names that came may have taken the tail away */
}

/* Updates the returned rows at once: rebuilding them may take a while. */
static void show_open(struct shown *s, size_t at, bool open)
{
	struct row *r = &s->rows[at];
	size_t below = at + 1;

	if (r->flags & (ROW_LEAF | ROW_REST))
		return;
	r->flags = open ? r->flags | ROW_OPEN : r->flags & ~(unsigned)ROW_OPEN;
	for (; !open && below < s->count && s->rows[below].depth > r->depth; below++)
		s->place[s->rows[below].id] = 0;
	memmove(r + 1, s->rows + below, (s->count - below) * sizeof *r);
	s->count -= below - at - 1;
	for (size_t i = at + 1; i < s->count; i++)
		s->place[s->rows[i].id] = (uint32_t)i + 1;
}

int query_open(struct query *q, row_id id, bool open)
{
	struct trow *r = tail_of(q, id);
	size_t at = query_index(q, id);

	if (!r)
		return -1;
	if (at != SIZE_MAX)
		show_open(&q->shown, at, open);
	if (r->rest)
		q->rows[r->parent]->more = open;
	r->open = open;
	return 0;
}

static bool value_children(struct query *q, const struct trow *r)
{
	for (size_t i = 0; i < r->child_count; i++)
		if (!tree_value(q, r->children[i]))
			return false;
	return true;
}

/* build: rows that names will join are joined first, as they would open what was open before.
 * False: no step was left. */
static bool close_all(struct query *q, uint32_t number, bool build)
{
	struct trow *r = q->rows[number];

	if (build && !group_build(q, number))
		return false;
	r->open = r->wanted = r->more = false;
	for (size_t i = 0; i < r->child_count; i++)
		if (!close_all(q, r->children[i], build))
			return false;
	return true;
}

/* Opens the heaviest first, and closes rows without memory. Those beyond the budget are closed,
 * too: an earlier slice, or another order, may have opened them. Returns how many rows are left. */
static size_t open_all(struct query *q, uint32_t number, size_t *budget)
{
	size_t left = 0;
	struct trow *r = q->rows[number];

	if (!group_build(q, number) || !value_children(q, r))
		return 0;
	if (!*budget) {
		close_all(q, number, false);
		return r->child_count;
	}
	r->open = true;
	rows_sort(q, r);
	for (size_t i = 0; i < q->rows[number]->child_count; i++) {
		uint32_t child = q->rows[number]->children[i];
		if (rows_empty(q, child)) {
			if (!close_all(q, child, true))
				return left;
			continue;
		}
		if (*budget)
			--*budget;
		left += open_all(q, child, budget);
	}
	return left;
}

size_t query_open_below(struct query *q, row_id id, bool open, size_t limit)
{
	uint32_t top = id ? id : row_root(q);
	size_t left = 0;

	if (!row_of(q, top) || row_of(q, top)->rest)
		return 0;
	if (!feed_tree(q))
		return 0;
	if (open)
		left = open_all(q, top, &limit);
	else
		close_all(q, top, false);
	q->rows[row_root(q)]->open = true;
	return left;
}

/* The heaviest of a row's children, which of a NET is the one that changed most; *fork: a second
 * one matters too. 0 = none holds anything, or no step is left. */
static uint32_t heaviest_child(struct query *q, const struct trow *r, bool *fork)
{
	uint32_t best = 0;
	int64_t most = 0, second = 0;

	for (size_t i = 0; i < r->child_count; i++) {
		if (!tree_value(q, r->children[i]))
			return 0;
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

row_id query_open_heaviest(struct query *q, row_id id)
{
	row_id last = id;
	bool fork = false;

	if (!feed_tree(q))
		return id;
	for (uint32_t at = id ? id : row_root(q); row_of(q, at) && !q->rows[at]->rest && !fork;) {
		uint32_t tail = at;
		if ((q->rows[at]->parent != NO_ID && !tree_tail(q, at, &tail)) ||
		    !group_build(q, tail))
			break;
		q->rows[at]->tail = tail;
		uint32_t best = heaviest_child(q, q->rows[tail], &fork);
		if (!best)
			break;
		q->rows[tail]->open = true;
		last = at = best;
	}
	return last;
}

void query_unfold(struct query *q, row_id id)
{
	struct trow *r = row_of(q, id);

	if (!r)
		return;
	r->unfolded = !r->unfolded;
	for (uint32_t at = id; r->unfolded && q->rows[at]->child_count == 1;
	     at = q->rows[at]->children[0]) {
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
		q->filter_stale = true;
		return 0;
	}
	if (!row_of(q, id) || row_of(q, id)->rest || q->zoom_depth == 16)
		return -1;
	q->zoom[q->zoom_depth++] = id;
	tail_of(q, id)->open = true;
	return 0;
}

size_t query_zoom_depth(const struct query *q)
{
	return q->zoom_depth;
}

int query_zoom_owner(struct query *q, uint32_t module)
{
	q->zoom_owner = module;
	q->zoom_owner_on = true;
	q->filter_stale = true;
	return 0;
}

/* The child of `row` with `index` (by its leaf), and the member. 0 = none, or no step is left. */
static uint32_t child_with(struct query *q, uint32_t row, uint32_t index, struct member *as)
{
	const struct trow *r = q->rows[row];

	if (!group_build(q, row))
		return 0;
	for (size_t i = 0; i < r->child_count; i++) {
		const struct trow *c = q->rows[r->children[i]];
		for (size_t k = 0; k < c->member_count; k++)
			if (c->members[k].leaf == index) {
				*as = c->members[k];
				return r->children[i];
			}
	}
	return 0;
}

/* Among rows from the top down, the one whose line shows the last. */
static row_id line_of(struct query *q, const uint32_t *rows, size_t count)
{
	size_t i = 0;
	uint32_t tail;

	while (i < count && tree_tail(q, rows[i], &tail)) {
		size_t end = i;
		while (end < count && rows[end] != tail)
			end++;
		if (end >= count - 1)
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

row_id query_open_node(struct query *q, uint32_t node)
{
	uint32_t *rows = NULL, at = row_root(q);
	size_t n = 0, row_room = 0, count = 0;
	const struct node *x = model_node(q->m, node);
	struct member as;

	if (!feed_tree(q) || !x || !x->known)
		return 0;
	if (q->inverted)
		return want(q, child_with(q, at, x->index, &as));
	for (; x->index; x = model_dense(q->m, x->parent, NULL)) {
		GROW(q->path, q->path_room, n + 1);
		q->path[n++] = x->index;
	}
	while (n) {
		uint32_t next = child_with(q, at, q->path[n - 1], &as);
		if (!next)
			break;
		q->rows[at]->open = true;
		at = want(q, next);
		GROW(rows, row_room, count + 1);
		rows[count++] = at;
		/* Stay on a node until its innermost frame; others of this row may have fewer. */
		if (member_innermost(q, &as))
			n--;
	}
	row_id found = line_of(q, rows, count);
	free(rows);
	return found;
}

/* --- search */

static bool loc_hits(struct query *q, const struct name_loc *l)
{
	for (uint32_t i = q->merged ? l->count - 1 : 0; i < l->count; i++) {
		const struct name_fn *f = names_fn(q->n, l->frames[i].fn);
		if (filter_text_has(f->function, q->search.text) ||
		    filter_text_has(f->name, q->search.text))
			return true;
	}
	return false;
}

/* The location's nodes from s->node on. False: no step is left. */
static bool open_hits(struct query *q, struct search *s)
{
	for (; s->node != NO_ID; s->node = names_next_node(q->n, s->node)) {
		uint32_t id;
		if (!take_step(q))
			return false;
		if (!filter_incl(q, s->node)->sum.alloc_blocks)
			continue;
		model_dense(q->m, s->node, &id);
		if (s->hits < HITS_OPENED && !q->inverted) {
			query_open_node(q, id);
			if (q->unfinished)
				return false;
		}
		s->hits++;
	}
	return true;
}

static void begin_search(struct query *q, const char *text)
{
	struct search *s = &q->search;
	char *copy = *text ? xstrdup(text) : NULL; /* it may be our own */

	free(s->text);
	s->text = copy;
	s->running = copy != NULL;
	s->loc = 0;
	s->node = NO_ID;
	s->hits = s->pending = 0;
	if (s->hit_room)
		memset(s->hit_of_fn, 0, s->hit_room);
}

/* Searches by location: there are far fewer locations than nodes. */
static bool search_on(struct query *q)
{
	struct search *s = &q->search;

	if (!feed_tree(q) || (s->node != NO_ID && !open_hits(q, s)))
		return false;
	while (s->loc < names_loc_count(q->n)) {
		const struct name_loc *l = names_loc(q->n, s->loc);
		if (!take_step(q))
			return false;
		s->loc++;
		s->pending += l->source == SYMBOL_PENDING && l->kind != MTW_NODE_TRUNCATED;
		if (!loc_hits(q, l))
			continue;
		s->node = l->first_node;
		if (!open_hits(q, s))
			return false;
	}
	return true;
}

size_t query_search(struct query *q, const char *text, size_t *pending)
{
	struct search *s = &q->search;

	if (!s->running || !s->text || strcmp(s->text, text))
		begin_search(q, text);
	if (s->running)
		s->running = !search_on(q);
	*pending = s->pending;
	return s->hits;
}

row_id query_search_next(struct query *q, row_id from, bool backwards)
{
	const struct shown *s = &q->shown;
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
