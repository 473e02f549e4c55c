/* SPDX-License-Identifier: MIT
 *
 * churn.h - what call sites allocate and free again, and how long their blocks live.
 */
#ifndef QUERY_SITES_CHURN_H
#define QUERY_SITES_CHURN_H

#include "query/query.h"

#define FLOW_WINDOWS 2 /* some ten seconds, some ten minutes */
#define FLOW_POINTS 6u /* of each */

struct flow { /* cumulative, of all stacks of a site */
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
	double block_ns; /* live blocks, summed over time */
};

struct flow_times {
	uint64_t ns[FLOW_POINTS], looks[FLOW_POINTS];
	size_t count;
};

struct site_table;

void churn_update(struct query *q, struct site_table *t); /* churn and life of every site */
void churn_forget(struct site_table *t);                  /* forgets all past looks */

#endif
