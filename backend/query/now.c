/* SPDX-License-Identifier: MIT
 *
 * now.c - takes the newest snapshot, and what of it passes the filter. Every answer begins with it.
 *
 * Counters move with what is new: who keeps something between answers compares them.
 */
#include "query/state.h"

#include <string.h>

#define LARGE 20000          /* stacks: answers may take long */
#define NAMES_AT_ONCE 16384u /* are requested: some 15 ms */

static void take(struct query *q, const struct heap *h)
{
	struct heap *was = q->raw;

	q->raw = heap_hold((struct heap *)h);
	q->structure += !was || was->names != h->names || was->skeleton != h->skeleton;
	q->naming += was && was->names != h->names;
	q->part_stale = true;
	heap_drop(was);
	GROW(q->looked, q->looked_room, h->names->locations / 64 + 1ul);
}

static bool has_new_scan(const struct query *q)
{
	return q->filter.by_cohort && q->filter.cohort_scan != model_cohort_scans(q->m);
}

void query_newest(struct query *q)
{
	query_mine(q);
	/* any function on any stack may match */
	q->asks = (q->filter.word_count || q->search.text) &&
		  !names_ask_all(q->n, model_paced(q->m) ? NAMES_AT_ONCE : UINT32_MAX);
	const struct heap *h = owners_heap(q->o);
	q->until = model_until(q->m);
	q->diffing = model_diffing(q->m);
	q->interval = model_intervals(q->m);
	if (h != q->raw)
		take(q, h);
}

static void take_part(struct query *q)
{
	if (q->heap && !q->part_stale && !q->filter_stale && !has_new_scan(q))
		return;
	heap_drop(q->heap);
	q->heap = filter_heap(q);
	q->passing += q->filter_stale || filter_on(q);
	q->part_stale = q->filter_stale = false;
	q->stamp++;
}

void query_now(struct query *q)
{
	if (!query_is_apart(q))
		query_newest(q);
	take_part(q);
}

bool query_asks(const struct query *q)
{
	return q->asks;
}

bool query_names(struct query *q)
{
	uint32_t count = q->raw->names->locations;
	bool known = owners_ask(q->o, q->looked, count);

	memset(q->looked, 0, (count / 64 + 1ul) * sizeof *q->looked);
	return known && owners_heap(q->o) != q->raw;
}

bool query_ask(struct query *q)
{
	return !query_is_apart(q) && query_names(q);
}

bool query_large(const struct query *q)
{
	return q->raw && q->raw->skeleton->stacks >= LARGE;
}
