/* SPDX-License-Identifier: MIT
 *
 * cells.c - each slot's live amount at an instant, stored where it differs from the instant before:
 * for marks (model/history/marks.c) and samples (model/history/samples.c).
 */
#include "model/history/history.h"

#include <memtop/wire.h>
#include <stdlib.h>

#define BATCH 4096u /* entries of a frame */

/* Merges `older` below k's own cells; both sorted by slot. */
void cells_merge(struct quota *q, struct mark_cells *k, const struct mark_cells *older)
{
	size_t room = k->count + older->count, n = 0, a = 0, b = 0;
	struct mark_cell *cells = xmalloc((room + 1) * sizeof *cells);

	while (a < k->count || b < older->count) {
		if (b == older->count || (a < k->count && k->list[a].slot <= older->list[b].slot)) {
			b += b < older->count && k->list[a].slot == older->list[b].slot;
			cells[n++] = k->list[a++];
		} else {
			cells[n++] = older->list[b++];
		}
	}
	q->bytes += (room - k->room) * sizeof *cells;
	free(k->list);
	*k = (struct mark_cells){ cells, n, room };
}

void cells_forget(struct quota *q, struct mark_cells *k)
{
	q->bytes -= k->room * sizeof *k->list;
	free(k->list);
	*k = (struct mark_cells){ 0 };
}

static int compare_cells(const void *a, const void *b)
{
	const struct mark_cell *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Sorts by slot and keeps one cell per slot: heaviest-first senders need not sort. */
void cells_finish(struct mark_cells *k)
{
	size_t n = 0;

	for (size_t i = 1; i < k->count; i++)
		if (k->list[i].slot <= k->list[i - 1].slot) {
			qsort(k->list, k->count, sizeof *k->list, compare_cells);
			break;
		}
	for (size_t i = 0; i < k->count; i++) {
		if (n && k->list[n - 1].slot == k->list[i].slot)
			n--;
		k->list[n++] = k->list[i];
	}
	k->count = n;
}

int cells_add(struct quota *q, struct mark_cells *k, struct mark_cell cell, struct err *err)
{
	if (k->count == k->room) {
		size_t before = k->room;
		if (quota_take(q, (before / 2 + 16) * sizeof *k->list, err))
			return -1;
		GROW(k->list, k->room, k->count + 1);
		/* it may grow by less */
		q->bytes -= (before + before / 2 + 16 - k->room) * sizeof *k->list;
	}
	k->list[k->count++] = cell;
	return 0;
}

int cells_write(const struct mark_cells *k, uint64_t type, uint32_t number, bool whole,
		int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len), void *arg)
{
	uint8_t payload[BATCH * 25 + 30];
	size_t i = 0;
	int rc;

	do {
		struct mtw_out o = { payload, payload + sizeof payload, false };
		size_t end = k->count - i < BATCH ? k->count : i + BATCH;
		uint32_t last = 0;
		mtw_put(&o, number);
		mtw_put(&o, whole && end == k->count);
		mtw_put(&o, end - i);
		for (; i < end; i++) {
			mtw_put(&o, k->list[i].slot - last);
			mtw_put(&o, k->list[i].blocks);
			mtw_put(&o, k->list[i].bytes);
			last = k->list[i].slot;
		}
		rc = fn(arg, type, payload, (size_t)(o.at - payload));
	} while (i < k->count && !rc);
	return rc;
}
