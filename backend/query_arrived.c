/* SPDX-License-Identifier: MIT
 *
 * query_arrived.c - what ticks changed and nobody has taken in yet: first in, first out.
 *
 * In blocks, each of which goes when it was taken in. While ticks come faster than they are taken in, one array
 * would never become empty: it would hold what is long done with, and keep the room of its worst moment.
 */
#include "query_priv.h"

#include <stdlib.h>

#define ENTRIES 512u

struct arrived_block {
	struct arrived_block *next;
	uint32_t count, taken;
	struct arrived entries[ENTRIES];
};

void arrivals_push(struct arrivals *a, const struct arrived *x)
{
	if (!a->last || a->last->count == ENTRIES) {
		struct arrived_block *fresh = xmalloc(sizeof *fresh);
		fresh->next = NULL;
		fresh->count = fresh->taken = 0;
		*(a->last ? &a->last->next : &a->first) = fresh;
		a->last = fresh;
	}
	a->last->entries[a->last->count++] = *x;
	a->left++;
}

const struct arrived *arrivals_first(const struct arrivals *a)
{
	return a->left ? &a->first->entries[a->first->taken] : NULL;
}

void arrivals_taken(struct arrivals *a)
{
	struct arrived_block *b = a->first;

	a->left--;
	if (++b->taken < b->count)
		return;
	a->first = b->next;
	if (!a->first)
		a->last = NULL;
	free(b);
}

void arrivals_forget(struct arrivals *a)
{
	while (a->left)
		arrivals_taken(a);
}
