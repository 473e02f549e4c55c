/* SPDX-License-Identifier: MIT
 *
 * cohorts.c - live blocks by slot, thread and age, as of the last complete scan.
 */
#include "model/state/cohorts.h"

#include <stdlib.h>
#include <string.h>

#define COHORTS_MAX (1u << 22) /* several times what an agent sends */

void cohorts_clear(struct cohort_scans *x)
{
	free(x->now.list);
	free(x->coming.list);
	x->now = x->coming = (struct cohorts){ 0 };
	x->room = 0;
	x->whole = x->begun = false;
}

static int by_slot(const void *a, const void *b)
{
	const struct cohort *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static bool in_order(const struct cohorts *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->list[i].slot < c->list[i - 1].slot)
			return false;
	return true;
}

static void publish(struct cohort_scans *x)
{
	struct cohorts *c = &x->coming;

	if (!in_order(c))
		qsort(c->list, c->count, sizeof *c->list, by_slot);
	free(x->now.list);
	x->now = *c;
	x->whole = true;
	x->scans++;
	x->begun = false;
	*c = (struct cohorts){ 0 };
	x->room = 0;
}

int cohorts_apply(struct cohort_scans *x, const struct event *e, struct err *err)
{
	struct cohorts *c = &x->coming;

	if (e->u.cohorts.flags & MTW_PART_FIRST) {
		c->count = 0;
		x->request = e->u.cohorts.request;
		x->begun = true;
	}
	if (!x->begun || x->request != e->u.cohorts.request)
		return 0; /* the rest of one whose begin was given up */
	if (c->count + e->u.cohorts.count > COHORTS_MAX)
		return err_set(err, 3, "stream: a scan has more than %u cohorts; connect again",
			       COHORTS_MAX);
	GROW(c->list, x->room, c->count + e->u.cohorts.count);
	if (e->u.cohorts.count)
		memcpy(c->list + c->count, e->u.cohorts.list, e->u.cohorts.count * sizeof *c->list);
	c->count += e->u.cohorts.count;
	c->time_ns = e->u.cohorts.time_ns;
	c->left_blocks = e->u.cohorts.left_blocks;
	c->left_bytes = e->u.cohorts.left_bytes;
	if (!(e->u.cohorts.flags & MTW_PART_LAST))
		return 0;
	publish(x);
	return 1;
}

size_t cohorts_of_slot(const struct cohorts *c, uint32_t slot, const struct cohort **first)
{
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (c->list[mid].slot < slot)
			low = mid + 1;
		else
			high = mid;
	}
	*first = c->list + low;
	for (high = low; high < c->count && c->list[high].slot == slot;)
		high++;
	return high - low;
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
	for (size_t i = 0; i < c->count; i++) {
		const struct cohort *x = &c->list[i];
		size_t at = place_of(list, n, x->age_s);
		if (at < n && list[at].age_s == x->age_s) {
			list[at].blocks += x->blocks;
			list[at].bytes += x->bytes;
			continue;
		}
		GROW(list, room, n + 1);
		memmove(list + at + 1, list + at, (n++ - at) * sizeof *list);
		list[at] = *x;
	}
	*count = n;
	return list;
}
