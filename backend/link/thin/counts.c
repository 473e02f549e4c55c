/* SPDX-License-Identifier: MIT */
#include "link/thin/stream.h"

#include <stdlib.h>

#define MANY 65536u /* entries, after which double ones are dropped */

static int by_slot(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->nth < y->nth ? -1 : 1;
}

void counts_settle(struct counts *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++)
		c->list[i].nth = (uint32_t)i;
	if (c->count)
		qsort(c->list, c->count, sizeof *c->list, by_slot);
	for (size_t i = 0; i < c->count; i++)
		if (i + 1 == c->count || c->list[i + 1].slot != c->list[i].slot)
			c->list[kept++] = c->list[i];
	c->count = c->unique = kept;
}

void counts_add(struct counts *c, uint32_t slot, const struct tally *now)
{
	if (c->count >= MANY && c->count >= 2 * c->unique)
		counts_settle(c);
	GROW(c->list, c->room, c->count + 1);
	c->list[c->count++] = (struct count){ slot, 0, *now };
}

void counts_drop(struct counts *c)
{
	c->count = c->unique = 0;
}

void counts_free(struct counts *c)
{
	free(c->list);
}
