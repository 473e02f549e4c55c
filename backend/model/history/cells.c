/* SPDX-License-Identifier: MIT
 *
 * cells.c - each slot's live amount at an instant, stored where it differs from the instant before:
 * for marks (model/history/marks.c) and samples (model/history/samples.c).
 *
 * Once all have come the bytes stay as they are; what changes then is other bytes (cells_merge()).
 */
#include "model/history/history.h"
#include "heap/columns.h"
#include "heap/users.h"
#include "wire/frames.h"

#include <memtop/wire.h>
#include <stdlib.h>

#define CELL_BYTES 25u /* at most: 5 of the slot, 10 of each number */

struct cell_bytes {
	atomic_uint users;
	uint8_t at[];
};

static struct cell_bytes *new_bytes(struct cell_bytes *had, size_t room)
{
	struct cell_bytes *b = xrealloc(had, sizeof *b + room);

	if (!had)
		atomic_init(&b->users, 1);
	return b;
}

struct mark_cells cells_hold(const struct mark_cells *k)
{
	if (k->bytes)
		users_hold(&k->bytes->users);
	return *k;
}

void cells_drop(struct mark_cells *k)
{
	if (k->bytes && users_drop(&k->bytes->users))
		free(k->bytes);
	*k = (struct mark_cells){ 0 };
}

bool cells_next(const struct mark_cells *k, struct cell_at *x, struct mark_cell *cell)
{
	if (x->at >= k->len)
		return false;
	struct mtw_in in = { k->bytes->at + x->at, k->bytes->at + k->len, false };

	cell->slot = x->slot += (uint32_t)mtw_get(&in);
	cell->blocks = mtw_get(&in);
	cell->bytes = mtw_get(&in);
	x->at = (size_t)(in.at - k->bytes->at);
	return true;
}

/* There is room for it. Slots count modulo 2^32: also for one that is below the last. */
static void append(struct mark_cells *k, const struct mark_cell *cell)
{
	struct mtw_out o = { k->bytes->at + k->len, k->bytes->at + k->room, false };

	mtw_put(&o, (uint32_t)(cell->slot - k->last));
	mtw_put(&o, cell->blocks);
	mtw_put(&o, cell->bytes);
	k->len = (size_t)(o.at - k->bytes->at);
	k->mixed |= k->count && cell->slot <= k->last;
	k->last = cell->slot;
	k->count++;
}

/* Gives back what it has too much. */
static void settle(struct quota *q, struct mark_cells *k, struct mark_cells made)
{
	made.bytes = new_bytes(made.bytes, made.len);
	made.room = made.len;
	q->bytes += made.room;
	cells_forget(q, k);
	*k = made;
}

static struct mark_cells with_room(size_t bytes)
{
	return (struct mark_cells){ .bytes = new_bytes(NULL, bytes), .room = bytes };
}

/* Both sorted by slot. */
void cells_merge(struct quota *q, struct mark_cells *k, const struct mark_cells *older, bool first)
{
	/* a difference of two slots may need a byte more than both of its parts */
	struct mark_cells made = with_room(k->len + older->len + k->count + CELL_BYTES);
	struct mark_cell own = { 0 }, other = { 0 };
	struct cell_at a = { 0 }, b = { 0 };
	bool has_own = cells_next(k, &a, &own), has_other = cells_next(older, &b, &other);

	while (has_own || has_other) {
		bool takes_own = has_own && (!has_other || own.slot <= other.slot);
		struct mark_cell cell = takes_own ? own : other;
		if (has_other && other.slot == cell.slot)
			has_other = cells_next(older, &b, &other);
		if (takes_own)
			has_own = cells_next(k, &a, &own);
		if (!first || cell.blocks || cell.bytes)
			append(&made, &cell);
	}
	settle(q, k, made);
}

void cells_forget(struct quota *q, struct mark_cells *k)
{
	q->bytes -= k->room;
	cells_drop(k);
}

struct nth_cell {
	struct mark_cell cell;
	size_t nth;
};

static int compare_cells(const void *a, const void *b)
{
	const struct nth_cell *x = a, *y = b;

	if (x->cell.slot != y->cell.slot)
		return x->cell.slot < y->cell.slot ? -1 : 1;
	return (x->nth > y->nth) - (x->nth < y->nth);
}

/* Sorts by slot and keeps the last cell of each: heaviest-first senders need not sort. */
void cells_finish(struct quota *q, struct mark_cells *k)
{
	struct mark_cells made = with_room(k->mixed ? k->count * CELL_BYTES : k->len);
	struct cell_at x = { 0 };
	size_t n = 0;

	if (!k->mixed) {
		if (k->len)
			memcpy(made.bytes->at, k->bytes->at, k->len);
		made.len = k->len;
		made.count = k->count;
		made.last = k->last;
		settle(q, k, made);
		return;
	}
	struct nth_cell *list = xmalloc(k->count * sizeof *list);
	for (; cells_next(k, &x, &list[n].cell); n++)
		list[n].nth = n;
	qsort(list, n, sizeof *list, compare_cells);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || list[i + 1].cell.slot != list[i].cell.slot)
			append(&made, &list[i].cell);
	free(list);
	settle(q, k, made);
}

int cells_add(struct quota *q, struct mark_cells *k, struct mark_cell cell, struct err *err)
{
	if (k->room - k->len < CELL_BYTES) {
		size_t before = k->room, more = before / 2 + 4 * CELL_BYTES;
		if (quota_take(q, more, err))
			return -1;
		k->bytes = new_bytes(k->bytes, before + more);
		k->room = before + more;
	}
	append(k, &cell);
	return 0;
}

void cells_write(const struct mark_cells *k, struct frames *to, uint64_t type, uint32_t number,
		 bool whole, const struct columns *known)
{
	struct cell_at at = { 0 };
	struct mark_cell cell;

	while (cells_next(k, &at, &cell))
		if (!known || columns_slot(known, cell.slot) != NO_ID)
			frames_cell(to, type, number, cell.slot, cell.blocks, cell.bytes);
	frames_cells_end(to, type, number, whole);
}
