/* SPDX-License-Identifier: MIT
 *
 * group.h - the children of a row of the call tree: its members' steps, grouped by function.
 */
#ifndef QUERY_TREE_GROUP_H
#define QUERY_TREE_GROUP_H

#include "query/state.h"

/* Members are those of the current call tree and names; groups the rows above as needed. */
void group_place(struct query *q, uint32_t row);
/* Children are, too. */
void group_build(struct query *q, uint32_t row);
static inline bool group_built(const struct query *q, const struct trow *r)
{
	return r->rest || r->built == q->structure;
}

#endif
