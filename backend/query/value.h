/* SPDX-License-Identifier: MIT
 *
 * value.h - the value of a node, a row or a call site.
 */
#ifndef QUERY_VALUE_H
#define QUERY_VALUE_H

#include "query/query.h"

struct value { /* the summed amounts */
	struct tally tally;
	struct change change;
	struct rate rate;
	uint64_t sampled; /* stacks with a sampled share */
};

/* ROW_ZERO when the value is empty: nothing alive, or no change between two marks. */
uint32_t value_zero_flag(const struct model *m, const struct value *v);
/* As GROW, for arrays beside the nodes: new elements stay untouched, so that the first one costs
 * no time and unused ones no memory. */
#define GROW_UNTOUCHED(ptr, have, need)                                                            \
	value_grow_untouched((void **)&(ptr), &(have), (need), sizeof *(ptr))
void value_grow_untouched(void **ptr, size_t *have, size_t need, size_t size);
void value_add(struct value *v, const struct value *d);
void value_sub(struct value *v, const struct value *d);
void value_of_node(const struct model *m, const struct node *n, bool incl, struct value *v);

#endif
