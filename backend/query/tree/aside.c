/* SPDX-License-Identifier: MIT
 *
 * aside.c - rows put aside while the tree is grouped again from its top.
 *
 * They lie under their function and nodes. A new row that matches one takes its number, so that
 * open, selected and zoomed rows stay so wherever their function still has a row. Rows without a
 * match stay aside until they have one.
 */
#include "query/tree/aside.h"

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

void aside_put(struct query *q, uint32_t number, bool inverted)
{
	struct trow *r = q->rows[number];

	agree(q, number);
	for (size_t i = 0; i < r->child_count; i++)
		aside_put(q, r->children[i], inverted);
	for (size_t k = 0; k < r->member_count && k < KNOWN_BY; k++)
		map_set(&q->aside, key_of(inverted, r->fn, &r->members[k]), number);
	r->heir = r->open; /* what is inlined into an open one is open */
	r->built = false;
	r->tail = 0;
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
