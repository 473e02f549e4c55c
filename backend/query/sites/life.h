/* SPDX-License-Identifier: MIT
 *
 * life.h - how long the blocks of call sites live.
 */
#ifndef QUERY_SITES_LIFE_H
#define QUERY_SITES_LIFE_H

#include "query/query.h"

#define FLOW_WINDOWS 2 /* some ten seconds, some ten minutes */
#define FLOW_POINTS 6u /* of each */

struct flow { /* cumulative, of all stacks of a site */
	uint64_t alloc_blocks, free_blocks;
	double block_ns; /* live blocks, summed over time */
};

struct flow_times {
	uint64_t ns[FLOW_POINTS], looks[FLOW_POINTS];
	size_t count;
};

struct site_table;

void life_update(struct query *q, struct site_table *t); /* life of every site */
void life_forget(struct site_table *t);                  /* forgets all past looks */

#endif
