/* SPDX-License-Identifier: MIT
 *
 * tree.h - rows of the call tree: their nodes and the sums of these.
 */
#ifndef QUERY_TREE_TREE_H
#define QUERY_TREE_TREE_H

#include "query/state.h"

void tree_clear(struct query *q);
uint64_t tree_version(const struct query *q); /* moves when rows may need regrouping */
bool tree_has_children(struct query *q, uint32_t row);

/* False: no step was left. */
bool tree_value(struct query *q, uint32_t row); /* incl and self up to date */
/* May its children be shown? They are grouped by the current names, or by old ones when no step
 * is left. */
bool tree_shown(struct query *q, uint32_t row);
/* The end of the folded chain; built unless it is the row itself. */
bool tree_tail(struct query *q, uint32_t row, uint32_t *tail);

#endif
