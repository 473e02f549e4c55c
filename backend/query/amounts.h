/* SPDX-License-Identifier: MIT
 *
 * amounts.h - the amounts of a node, a row or a call site.
 */
#ifndef QUERY_AMOUNTS_H
#define QUERY_AMOUNTS_H

#include "query/query.h"

/* ROW_ZERO when they are empty: nothing alive, or no change between two marks. */
uint32_t amounts_zero_flag(const struct model *m, const struct amounts *v);
/* As GROW, for arrays beside the nodes: new elements stay untouched, so that the first one costs
 * no time and unused ones no memory. */
#define GROW_UNTOUCHED(ptr, have, need)                                                            \
	amounts_grow_untouched((void **)&(ptr), &(have), (need), sizeof *(ptr))
void amounts_grow_untouched(void **ptr, size_t *have, size_t need, size_t size);
void amounts_of_node(const struct model *m, const struct node *n, bool incl, struct amounts *v);

#endif
