/* SPDX-License-Identifier: MIT
 *
 * follow.c - adds a stack's change wherever the stack is counted.
 */
#include "query/feed/follow.h"
#include "query/sites/lines.h"
#include "query/sites/sites.h"
#include "query/tree/place.h"

void feed_follow(struct query *q, uint32_t index, const struct value *raw)
{
	struct value passed = *raw;

	if (filter_on(q) && (!filter_follow(q, index, &passed) || !q->filter.whole))
		passed = (struct value){ 0 };
	sites_add_value(q, index, raw, &passed);
	lines_add_value(q, index, raw);
	if (q->bulk)
		place_stack(q, index);
	else
		place_value(q, index, &passed);
}
