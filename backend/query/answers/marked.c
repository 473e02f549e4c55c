/* SPDX-License-Identifier: MIT
 *
 * marked.c - what was born and gone between successive marks.
 *
 * The interval between two marks never changes, so one walk over the cells of all marks counts
 * each interval once, and goes on where it ended when a mark is set.
 */
#include "query/answers/marked.h"

#include "model/interval.h"

#include <stdlib.h>

struct marked {
	struct mark_walk walk;
	uint64_t chain, resets; /* as of the walk */
	struct change *list;    /* by mark: since the mark before */
	size_t room;
	uint32_t count; /* marks below it are in the list */
	uint32_t slots; /* of the snapshot that was walked over last */
};

static void add(struct change *sum, struct live was, struct live is)
{
	struct change c = change_between(was.blocks, was.bytes, is.blocks, is.bytes);

	change_add(sum, &c);
}

static bool count_cell(void *arg, uint32_t mark, uint32_t slot, const struct live *was,
		       const struct live *is)
{
	struct query *q = arg;

	(void)slot;
	add(&q->marked->list[mark], *was, *is);
	return true;
}

void marked_forget(struct query *q)
{
	if (!q->marked)
		return;
	mark_walk_end(&q->marked->walk);
	free(q->marked->list);
	free(q->marked);
	q->marked = NULL;
}

uint32_t query_marks(struct query *q, const struct change **list)
{
	query_mine(q);
	uint32_t whole = model_marks_whole(q->m);

	query_now(q);
	if (q->marked && (q->marked->chain != model_marks_chain(q->m) ||
			  q->marked->resets != model_resets(q->m) ||
			  (q->marked->walk.missed && q->marked->slots != q->raw->slots->count)))
		marked_forget(q);
	if (!q->marked) {
		q->marked = xcalloc(1, sizeof *q->marked);
		q->marked->chain = model_marks_chain(q->m);
		q->marked->resets = model_resets(q->m);
	}
	struct marked *k = q->marked;
	GROW(k->list, k->room, whole + 1u);
	mark_walk(q->m, q->raw->slots, &k->walk, whole, count_cell, q);
	k->slots = q->raw->slots->count;
	k->count = whole + 1;
	*list = k->list;
	return k->count;
}

bool query_since_mark(struct query *q, uint32_t mark, struct change *sum)
{
	query_mine(q);
	*sum = q->raw->since;
	return q->raw->since_of == mark;
}
