/* SPDX-License-Identifier: MIT
 *
 * place.h - new nodes and changed values find the rows that they belong to.
 */
#ifndef QUERY_TREE_PLACE_H
#define QUERY_TREE_PLACE_H

#include "query/state.h"

void place_nodes(struct query *q); /* adds new nodes */
/* adds a node that arrived below the row while it was grouped */
void place_late(struct query *q, uint32_t row, uint32_t index);
/* Adds stacks that the inverted tree lacks. False: no step was left. */
bool place_stacks(struct query *q);
/* Adds a difference to the rows of a stack. */
void place_value(struct query *q, uint32_t index, const struct amounts *v);
/* Adds the stack alone, when all rows will be summed up again. */
void place_stack(struct query *q, uint32_t index);
/* The built rows that include a stack, from the top; returns their count. */
size_t place_rows_of(struct query *q, uint32_t index, uint32_t *rows, size_t max);

#endif
