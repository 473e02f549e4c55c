/* SPDX-License-Identifier: MIT
 *
 * aside.h - rows put aside while the tree is grouped again from its top.
 */
#ifndef QUERY_TREE_ASIDE_H
#define QUERY_TREE_ASIDE_H

#include "query/state.h"

#define KNOWN_BY 8u /* members that identify a row */

/* the row and those below it */
void aside_put(struct query *q, uint32_t number, bool inverted);
/* the old row of the group; 0 = none */
uint32_t aside_take(struct query *q, uint32_t parent, const struct group *p);

#endif
