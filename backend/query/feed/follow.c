/* SPDX-License-Identifier: MIT
 *
 * follow.c - adds a stack's change wherever the stack is counted.
 */
#include "query/feed/follow.h"
#include "query/sites/lines.h"
#include "query/sites/sites.h"
#include "query/tree/place.h"

void feed_follow(struct query *q, uint32_t index, const struct amounts *raw)
{
	struct amounts passed = *raw;

	if (filter_on(q) && (!filter_follow(q, index, &passed) || !q->filter.whole))
		passed = (struct amounts){ 0 };
	sites_add_value(q, index, raw, &passed);
	lines_add_value(q, index, raw);
	if (q->bulk)
		place_stack(q, index);
	else
		place_value(q, index, &passed);
}
