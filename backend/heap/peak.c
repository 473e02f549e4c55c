/* SPDX-License-Identifier: MIT
 *
 * peak.c - merges the parts of a peak into the one before. A peak is later than that, so its
 * counters never shrink, and they add up to its own totals.
 */
#include "heap/peak.h"

#include <stdlib.h>
#include <string.h>

#define CELL_BYTES 45u /* at most: 5 of the slot, 10 of each number */

static bool next(const struct peak_bytes *k, struct peak_at *x, struct peak_cell *cell)
{
	struct mtw_in in = { k->bytes + x->at, k->bytes + k->len, false };

	if (x->at >= k->len)
		return false;
	cell->slot = x->slot += (uint32_t)mtw_get(&in);
	cell->then.alloc_blocks = mtw_get(&in);
	cell->then.alloc_bytes = mtw_get(&in);
	cell->then.free_blocks = mtw_get(&in);
	cell->then.free_bytes = mtw_get(&in);
	x->at = (size_t)(in.at - k->bytes);
	return true;
}

bool peak_next(const struct peak *x, struct peak_at *at, struct peak_cell *cell)
{
	return x->whole && next(&x->cells, at, cell);
}

static void append(struct peak_bytes *k, const struct peak_cell *cell)
{
	GROW(k->bytes, k->room, k->len + CELL_BYTES);
	struct mtw_out o = { k->bytes + k->len, k->bytes + k->room, false };

	mtw_put(&o, cell->slot - k->last);
	mtw_put(&o, cell->then.alloc_blocks);
	mtw_put(&o, cell->then.alloc_bytes);
	mtw_put(&o, cell->then.free_blocks);
	mtw_put(&o, cell->then.free_bytes);
	k->len = (size_t)(o.at - k->bytes);
	k->last = cell->slot;
}

static void drop_coming(struct peak *x)
{
	free(x->coming);
	x->coming = NULL;
	x->coming_count = x->coming_room = 0;
}

void peak_begin(struct peak *x)
{
	x->coming_count = 0;
}

void peak_put(struct peak *x, uint32_t slot, const struct tally *then)
{
	GROW(x->coming, x->coming_room, x->coming_count + 1);
	x->coming[x->coming_count++] = (struct peak_cell){ slot, *then };
}

static bool shrinks(const struct tally *was, const struct tally *is)
{
	return is->alloc_blocks < was->alloc_blocks || is->alloc_bytes < was->alloc_bytes ||
	       is->free_blocks < was->free_blocks || is->free_bytes < was->free_bytes;
}

static int by_slot(const void *a, const void *b)
{
	const struct peak_cell *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* By slot; of one that came twice each is checked, in any order. */
static void sort(struct peak *x)
{
	bool sorted = true;

	for (size_t i = 1; i < x->coming_count && sorted; i++)
		sorted = x->coming[i - 1].slot <= x->coming[i].slot;
	if (!sorted)
		qsort(x->coming, x->coming_count, sizeof *x->coming, by_slot);
}

/* *shrunk: a slot whose counters do, NO_ID = none. Returns the sum of all. */
static struct tally merge(const struct peak *x, struct peak_bytes *to, uint32_t *shrunk)
{
	static const struct tally nothing;
	struct tally sum = { 0 };
	struct peak_at at = { 0 };
	struct peak_cell was;
	bool has = x->whole && next(&x->cells, &at, &was);

	*shrunk = NO_ID;
	for (size_t i = 0; has || i < x->coming_count;) {
		const struct peak_cell *is = i < x->coming_count ? &x->coming[i] : NULL;
		if (has && (!is || was.slot < is->slot)) {
			append(to, &was);
			tally_add(&sum, &was.then);
			has = next(&x->cells, &at, &was);
			continue;
		}
		bool again = i + 1 < x->coming_count && is[1].slot == is->slot;
		bool same = has && was.slot == is->slot;
		if (shrinks(same ? &was.then : &nothing, &is->then))
			*shrunk = is->slot;
		i++;
		if (again)
			continue;
		append(to, is);
		tally_add(&sum, &is->then);
		if (same)
			has = next(&x->cells, &at, &was);
	}
	return sum;
}

int peak_end(struct peak *x, const struct tally *sum, uint32_t *shrunk)
{
	struct peak_bytes made = { 0 };

	sort(x);
	struct tally is = merge(x, &made, shrunk);
	bool right = *shrunk == NO_ID && !memcmp(&is, sum, sizeof is);
	drop_coming(x);
	if (!right) {
		free(made.bytes);
		if (*shrunk == NO_ID)
			peak_release(x); /* the next one comes whole: over a new link */
		return -1;
	}
	free(x->cells.bytes);
	made.bytes = xrealloc(made.bytes, made.len + 1);
	made.room = made.len + 1;
	x->cells = made;
	x->whole = true;
	x->sum = is;
	return 0;
}

bool peak_adds_up(const struct peak *x)
{
	struct tally sum = { 0 };
	struct peak_at at = { 0 };
	struct peak_cell cell;

	while (peak_next(x, &at, &cell))
		tally_add(&sum, &cell.then);
	return !x->whole || !memcmp(&sum, &x->sum, sizeof sum);
}

void peak_release(struct peak *x)
{
	free(x->cells.bytes);
	free(x->coming);
	*x = (struct peak){ 0 };
}
