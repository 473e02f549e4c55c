/* SPDX-License-Identifier: MIT
 *
 * cohorts.c - live blocks by slot, thread and age, as of the last complete scan. A scan has half a
 * million of them, which take seven bytes each.
 */
#include "model/state/cohorts.h"

#include <memtop/wire.h>
#include <stdlib.h>
#include <string.h>

#define COHORTS_MAX (1u << 22) /* several times what an agent sends */

#define COHORT_BYTES 35u /* at most: 5 of the slot, thread and age, 10 of each other number */

static void drop(struct cohorts *c)
{
	free(c->bytes);
	free(c->places);
	*c = (struct cohorts){ 0 };
}

static void begin(struct cohort_scans *x)
{
	drop(&x->coming);
	x->room = x->place_room = 0;
	x->last = 0;
	x->mixed = false;
}

void cohorts_clear(struct cohort_scans *x)
{
	drop(&x->now);
	begin(x);
	x->whole = x->begun = false;
}

static void append(struct cohort_scans *x, const struct cohort *one)
{
	struct cohorts *c = &x->coming;

	if (c->count % COHORTS_STRIDE == 0) {
		GROW(c->places, x->place_room, c->count / COHORTS_STRIDE + 1);
		c->places[c->count / COHORTS_STRIDE] = (struct cohort_at){ c->len, x->last };
	}
	GROW(c->bytes, x->room, c->len + COHORT_BYTES);
	struct mtw_out o = { c->bytes + c->len, c->bytes + x->room, false };
	mtw_put(&o, (uint32_t)(one->slot - x->last));
	mtw_put(&o, one->thread);
	mtw_put(&o, one->age_s);
	mtw_put(&o, one->blocks);
	mtw_put(&o, one->bytes);
	c->len = (size_t)(o.at - c->bytes);
	c->count++;
	x->mixed |= one->slot < x->last;
	x->last = one->slot;
}

bool cohorts_next(const struct cohorts *c, struct cohort_at *at, struct cohort *x)
{
	if (at->at >= c->len)
		return false;
	struct mtw_in in = { c->bytes + at->at, c->bytes + c->len, false };

	x->slot = at->slot += (uint32_t)mtw_get(&in);
	x->thread = (uint32_t)mtw_get(&in);
	x->age_s = (uint32_t)mtw_get(&in);
	x->blocks = mtw_get(&in);
	x->bytes = mtw_get(&in);
	at->at = (size_t)(in.at - c->bytes);
	return true;
}

static int by_slot(const void *a, const void *b)
{
	const struct cohort *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static void sort(struct cohort_scans *x)
{
	size_t count = x->coming.count;
	struct cohort *list = xcalloc(count + 1, sizeof *list);
	struct cohort_at at = { 0 };

	for (size_t i = 0; i < count; i++)
		cohorts_next(&x->coming, &at, &list[i]);
	qsort(list, count, sizeof *list, by_slot);
	struct cohorts was = x->coming;
	x->coming =
		(struct cohorts){ was.time_ns, was.left_blocks, was.left_bytes, 0, NULL, 0, NULL };
	free(was.bytes);
	free(was.places);
	x->room = x->place_room = x->last = 0;
	for (size_t i = 0; i < count; i++)
		append(x, &list[i]);
	free(list);
}

static void publish(struct cohort_scans *x)
{
	if (x->mixed)
		sort(x);
	drop(&x->now);
	x->now = x->coming;
	x->now.bytes = xrealloc(x->now.bytes, x->now.len + 1);
	x->whole = true;
	x->scans++;
	x->begun = false;
	x->coming = (struct cohorts){ 0 };
	begin(x);
}

int cohorts_apply(struct cohort_scans *x, const struct event *e, struct err *err)
{
	struct cohorts *c = &x->coming;

	if (e->u.cohorts.flags & MTW_PART_FIRST) {
		begin(x);
		x->request = e->u.cohorts.request;
		x->begun = true;
	}
	if (!x->begun || x->request != e->u.cohorts.request)
		return 0; /* the rest of one whose begin was given up */
	if (c->count + e->u.cohorts.count > COHORTS_MAX)
		return err_set(err, 3, "stream: a scan has more than %u cohorts; connect again",
			       COHORTS_MAX);
	for (size_t i = 0; i < e->u.cohorts.count; i++)
		append(x, &e->u.cohorts.list[i]);
	c->time_ns = e->u.cohorts.time_ns;
	c->left_blocks = e->u.cohorts.left_blocks;
	c->left_bytes = e->u.cohorts.left_bytes;
	if (!(e->u.cohorts.flags & MTW_PART_LAST))
		return 0;
	publish(x);
	return 1;
}

struct cohort_at cohorts_of_slot(const struct cohorts *c, uint32_t slot)
{
	size_t low = 0, high = (c->count + COHORTS_STRIDE - 1) / COHORTS_STRIDE;
	struct cohort_at at = { 0 };
	struct cohort x;

	while (low < high) { /* places behind slots below it */
		size_t mid = low + (high - low) / 2;
		if (c->places[mid].slot < slot)
			low = mid + 1;
		else
			high = mid;
	}
	if (low)
		at = c->places[low - 1];
	for (struct cohort_at next = at; cohorts_next(c, &next, &x) && x.slot < slot;)
		at = next;
	return at;
}

/* The place of an age among those seen: few, since old ones are rounded. */
static size_t place_of(const struct cohort *list, size_t n, uint32_t age_s)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (list[mid].age_s < age_s)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct cohort *cohorts_by_age(const struct cohorts *c, size_t *count)
{
	struct cohort *list = NULL;
	size_t n = 0, room = 0;

	GROW(list, room, 1);
	struct cohort x;
	for (struct cohort_at to = { 0 }; cohorts_next(c, &to, &x);) {
		size_t at = place_of(list, n, x.age_s);
		if (at < n && list[at].age_s == x.age_s) {
			list[at].blocks += x.blocks;
			list[at].bytes += x.bytes;
			continue;
		}
		GROW(list, room, n + 1);
		memmove(list + at + 1, list + at, (n++ - at) * sizeof *list);
		list[at] = x;
	}
	*count = n;
	return list;
}
