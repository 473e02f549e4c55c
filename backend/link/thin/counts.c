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

size_t counts_put(const struct counts *c, size_t from, struct mtw_out *o)
{
	size_t end = c->count - from < COUNTS_BATCH ? c->count : from + COUNTS_BATCH;
	uint32_t last = 0;

	mtw_put(o, end - from);
	for (size_t i = from; i < end; i++) {
		mtw_put(o, c->list[i].slot - last);
		mtw_put(o, c->list[i].now.alloc_blocks);
		mtw_put(o, c->list[i].now.alloc_bytes);
		mtw_put(o, c->list[i].now.free_blocks);
		mtw_put(o, c->list[i].now.free_bytes);
		last = c->list[i].slot;
	}
	return end;
}

void counts_drop(struct counts *c)
{
	c->count = c->unique = 0;
}

void counts_free(struct counts *c)
{
	free(c->list);
}
