/* SPDX-License-Identifier: MIT
 *
 * group.h - the children of a row of the call tree: its members' steps, grouped by function.
 */
#ifndef QUERY_TREE_GROUP_H
#define QUERY_TREE_GROUP_H

#include "query/state.h"

/* Children up to date. False: no step was left. */
bool group_build(struct query *q, uint32_t row);
/* They are up to date, or may stay old for a while: many members, and more names to come. */
bool group_good(const struct query *q, const struct trow *r);
void group_drop(struct query *q); /* the current grouping */

#endif
