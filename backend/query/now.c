/* SPDX-License-Identifier: MIT
 *
 * now.c - takes the newest snapshot, and what of it passes the filter. Every answer begins with it.
 *
 * Counters move with what is new: who keeps something between answers compares them.
 */
#include "query/state.h"

#include <string.h>

static void take(struct query *q, const struct heap *h)
{
	struct heap *was = q->raw;

	q->raw = heap_hold((struct heap *)h);
	q->structure += !was || was->names != h->names || was->skeleton != h->skeleton;
	q->naming += was && was->names != h->names;
	heap_drop(was);
	GROW(q->looked, q->looked_room, h->names->locations / 64 + 1ul);
}

static bool has_new_scan(const struct query *q)
{
	return q->filter.by_cohort && q->filter.cohort_scan != model_cohort_scans(q->m);
}

void query_now(struct query *q)
{
	if (q->filter.word_count) /* any function on any stack may match */
		names_ask_all(q->n);
	const struct heap *h = owners_heap(q->o);
	if (h == q->raw && q->heap && !q->filter_stale && !has_new_scan(q))
		return;
	if (h != q->raw)
		take(q, h);
	heap_drop(q->heap);
	q->heap = filter_heap(q);
	q->passing += q->filter_stale || filter_on(q);
	q->filter_stale = false;
	q->stamp++;
}

bool query_ask(struct query *q)
{
	uint32_t count = q->raw->names->locations;
	bool known = owners_ask(q->o, q->looked, count);

	memset(q->looked, 0, (count / 64 + 1ul) * sizeof *q->looked);
	return known && owners_heap(q->o) != q->raw;
}
