/* SPDX-License-Identifier: MIT
 *
 * arrived.c - changes of ticks that are not taken in yet: first in, first out.
 *
 * It keeps the model's own lists: a late tick may have a million changes.
 */
#include "query/arrived.h"

#include <stdlib.h>

struct arrived_list {
	struct arrived_list *next;
	size_t taken;
	struct model_changes *changes; /* kept */
};

void arrivals_push(struct arrivals *a, struct model_changes *changes)
{
	struct arrived_list *l = xmalloc(sizeof *l);

	*l = (struct arrived_list){ NULL, 0, changes };
	*(a->last ? &a->last->next : &a->first) = l;
	a->last = l;
	a->left += changes->count;
}

static void drop_taken(struct arrivals *a)
{
	for (struct arrived_list *l; (l = a->first) && l->taken == l->changes->count;) {
		a->first = l->next;
		if (!a->first)
			a->last = NULL;
		model_drop_changes(l->changes);
		free(l);
	}
}

const struct model_delta *arrivals_first(struct arrivals *a)
{
	drop_taken(a);
	return a->first ? &a->first->changes->list[a->first->taken] : NULL;
}

const struct model_delta *arrivals_ahead(const struct arrivals *a, size_t by)
{
	const struct arrived_list *l = a->first;

	return l && by < l->changes->count - l->taken ? &l->changes->list[l->taken + by] : NULL;
}

void arrivals_taken(struct arrivals *a)
{
	a->left--;
	a->first->taken++;
}

void arrivals_forget(struct arrivals *a)
{
	for (struct arrived_list *l = a->first; l; l = l->next)
		l->taken = l->changes->count;
	drop_taken(a);
	a->left = 0;
}
