/* SPDX-License-Identifier: MIT
 *
 * places.c - where rows are after names came, or inlined functions got rows of their own, or lost
 * them (query_set_inlined()).
 *
 * A row is where its witness is: the functions on the way from the root to it, by the new names.
 * Where two rows meet, the open one stays, with its number, and the other becomes a part of it,
 * until other names part them. A row whose one frame became several, inlined into each other, is
 * the outermost of them; if it was open, so are those inlined into it.
 */
#include "query/tree/places.h"
#include "query/tree/members.h"
#include "query/tree/row.h"

#include <stdlib.h>

/* A place in the new tree, and the row that has it, 0 = none yet. */
struct spot {
	uint32_t parent, fn, row;
	struct member member;
	bool open;
};

struct spots {
	struct spot *list; /* parents first */
	size_t count, room;
	struct map by_fn; /* spot << 32 | function -> spot */
};

static uint32_t spot_below(struct query *q, struct spots *s, uint32_t parent,
			   const struct member *m)
{
	uint32_t fn = member_fn(q, m);
	uint64_t key = (uint64_t)parent << 32 | fn;
	uint32_t at = map_get(&s->by_fn, key, 0);

	if (at)
		return at;
	GROW(s->list, s->room, s->count + 1);
	s->list[s->count] = (struct spot){ .parent = parent, .fn = fn, .member = *m };
	at = (uint32_t)s->count++;
	map_set(&s->by_fn, key, at);
	return at;
}

static uint32_t node_of(const struct query *q, uint32_t arrival)
{
	const struct skeleton *s = q->raw->skeleton;

	return arrival < s->nodes ? s->node_of[arrival] : 0;
}

/* How far in on the path the witness lies; SIZE_MAX: no row has it. */
static size_t steps_to(const struct query *q, const struct trow *r, size_t count, uint32_t frames)
{
	uint32_t node = node_of(q, r->witness.node);

	if (r->witness.frame >= frames)
		return SIZE_MAX;
	if (!r->inverted)
		return count - frames + r->witness.frame;
	for (size_t i = 0; i < count; i++)
		if (q->path[i].node == node &&
		    (q->merged || heap_frames(q->raw->names, q->raw->skeleton->location[node]) - 1 -
						  q->path[i].frame ==
					  r->witness.frame))
			return i;
	return SIZE_MAX;
}

static void claim(struct query *q, struct spot *at, uint32_t number)
{
	struct trow *r = q->rows[number], *has;

	if (!at->row) {
		at->row = number;
		r->gone = false;
		r->into = 0;
		return;
	}
	has = q->rows[at->row];
	has->open |= r->open;
	has->more |= r->more;
	has->wanted |= r->wanted;
	r->gone = true;
	r->into = at->row;
}

/* Those inlined into it, of the same node. */
static void open_inner(struct query *q, struct spots *s, uint32_t at, size_t i, size_t count,
		       bool inverted)
{
	uint32_t node = q->path[i].node;

	if (inverted)
		return; /* outwards from it are its callers */
	for (i++; i < count && q->path[i].node == node; i++) {
		at = spot_below(q, s, at, &q->path[i]);
		s->list[at].open = true;
	}
}

static void find_row(struct query *q, struct spots *s, uint32_t number)
{
	struct trow *r = q->rows[number];
	uint32_t leaf = node_of(q, r->inverted ? r->witness.leaf : r->witness.node);
	size_t count = member_path(q, r->inverted, leaf);
	size_t last = count ? steps_to(q, r, count, member_frames(q, node_of(q, r->witness.node)))
			    : SIZE_MAX;

	if (last == SIZE_MAX) {
		r->gone = true;
		r->into = 0;
		return;
	}
	uint32_t at = r->inverted ? ROOT_UP : ROOT_DOWN;
	for (size_t i = 0; i <= last; i++)
		at = spot_below(q, s, at, &q->path[i]);
	claim(q, &s->list[at], number);
	if (r->open && r->witness.all)
		open_inner(q, s, at, last, count, r->inverted);
}

/* Open rows first, and those that are parts of others last. A chain is as open as its end. */
static int turn_of(const struct query *q, const struct trow *r)
{
	return r->gone ? 2 : r->open || (r->tail && q->rows[r->tail]->open) ? 0 : 1;
}

static void settle(struct query *q, struct spots *s)
{
	map_clear(&q->child_of);
	for (size_t i = ROOT_UP + 1; i < s->count; i++) {
		struct spot *at = &s->list[i];
		uint32_t parent = s->list[at->parent].row;

		if (!at->row) {
			at->row = row_new(q, NO_ID, NO_ID, q->rows[parent]->inverted);
			q->rows[at->row]->witness = member_witness(q, &at->member);
		}
		row_enter(q, at->row, parent, at->fn);
		q->rows[at->row]->open |= at->open;
	}
}

void places_find(struct query *q)
{
	struct spots s = { 0 };
	uint8_t *turn = xcalloc(q->row_count + 1, 1);

	GROW(s.list, s.room, ROOT_UP + 1ul);
	for (uint32_t i = 0; i <= ROOT_UP; i++)
		s.list[s.count++] = (struct spot){ .row = i };
	for (uint32_t i = ROOT_UP + 1; i < q->row_count; i++)
		q->rows[i]->forked |= q->rows[i]->open && q->rows[i]->child_count > 1;
	for (uint32_t i = ROOT_UP + 1; i < q->row_count; i++)
		turn[i] = q->rows[i]->rest || !q->rows[i]->witness.node
				  ? UINT8_MAX
				  : (uint8_t)turn_of(q, q->rows[i]);
	size_t rows = q->row_count;
	for (uint8_t t = 0; t <= 2; t++)
		for (uint32_t i = ROOT_UP + 1; i < rows; i++)
			if (turn[i] == t)
				find_row(q, &s, i);
	settle(q, &s);
	map_release(&s.by_fn);
	free(s.list);
	free(turn);
}
