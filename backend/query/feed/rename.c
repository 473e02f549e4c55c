/* SPDX-License-Identifier: MIT
 *
 * rename.c - updates what passes a filter after locations were renamed.
 *
 * Nearly all new names match just what their placeholders matched: nothing. For the others, their
 * nodes are tested again, and the nodes below as long as the result changes; in slices.
 */
#include "query/feed/rename.h"
#include "query/feed/follow.h"
#include "query/steps.h"

#include <stdlib.h>

void rename_forget(struct query *q)
{
	struct renaming *r = &q->renaming;

	free(r->locs);
	*r = (struct renaming){ .top = NO_ID, .node = NO_ID };
}

void rename_note(struct query *q, const uint32_t *locs, size_t count)
{
	struct renaming *r = &q->renaming;

	if (!q->filter.word_count)
		return;
	if (!r->count)
		r->top = r->node = NO_ID;
	GROW(r->locs, r->room, r->count + count);
	for (size_t i = 0; i < count; i++)
		r->locs[r->count++] = locs[i];
}

/* The next node not below `index`, within the subtree of `top`; NO_ID = none. */
static uint32_t after(const struct query *q, uint32_t top, uint32_t index)
{
	while (index != top) {
		const struct node *n = model_dense(q->m, index, NULL);
		if (n->next_sibling != NO_ID)
			return n->next_sibling;
		index = n->parent;
	}
	return NO_ID;
}

/* Rematches one node of the location, and those below it. False: no step was left. */
static bool rename_below(struct query *q, struct renaming *r)
{
	static const struct amounts nothing;

	while (r->node != NO_ID) {
		const struct node *n = model_dense(q->m, r->node, NULL);
		if (!take_step(q))
			return false;
		if (!filter_words_again(q, r->node)) {
			r->node = after(q, r->top, r->node);
			continue;
		}
		if (n->first_slot != NO_ID) {
			spend_steps(q, FOLLOW_STEPS);
			feed_follow(q, r->node, &nothing);
		}
		r->node = n->first_child != NO_ID ? n->first_child : after(q, r->top, r->node);
	}
	return true;
}

bool rename_apply(struct query *q)
{
	struct renaming *r = &q->renaming;

	for (; r->at < r->count; r->at++, r->top = NO_ID) {
		if (!take_step(q))
			return false;
		if (r->top == NO_ID && filter_loc_again(q, r->locs[r->at]))
			r->top = r->node = names_loc(q->n, r->locs[r->at])->first_node;
		while (r->top != NO_ID) {
			if (!rename_below(q, r))
				return false;
			r->top = r->node = names_next_node(q->n, r->top);
		}
	}
	r->at = r->count = 0;
	return true;
}
