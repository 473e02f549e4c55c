/* SPDX-License-Identifier: MIT
 *
 * query_arrived.c - what ticks changed and nobody has taken in yet: first in, first out.
 *
 * The model's own lists, taken over: a tick that comes late may have a million changes.
 */
#include "query_priv.h"

#include <stdlib.h>

struct arrived_list {
	struct arrived_list *next;
	size_t count, taken;
	struct model_delta *changes;
};

void arrivals_push(struct arrivals *a, struct model_delta *changes, size_t count)
{
	struct arrived_list *l = xmalloc(sizeof *l);
	struct model_delta *less = realloc(changes, count * sizeof *changes);

	*l = (struct arrived_list){ NULL, count, 0, less ? less : changes };
	*(a->last ? &a->last->next : &a->first) = l;
	a->last = l;
	a->left += count;
}

static void drop_taken(struct arrivals *a)
{
	for (struct arrived_list *l; (l = a->first) && l->taken == l->count;) {
		a->first = l->next;
		if (!a->first)
			a->last = NULL;
		free(l->changes);
		free(l);
	}
}

const struct model_delta *arrivals_first(struct arrivals *a)
{
	drop_taken(a);
	return a->first ? &a->first->changes[a->first->taken] : NULL;
}

void arrivals_taken(struct arrivals *a)
{
	a->left--;
	a->first->taken++;
}

void arrivals_forget(struct arrivals *a)
{
	for (struct arrived_list *l = a->first; l; l = l->next)
		l->taken = l->count;
	drop_taken(a);
	a->left = 0;
}
