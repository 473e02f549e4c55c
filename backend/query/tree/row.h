/* SPDX-License-Identifier: MIT
 *
 * row.h - a row of the call tree by itself: its number and its place below its parent.
 */
#ifndef QUERY_TREE_ROW_H
#define QUERY_TREE_ROW_H

#include "query/state.h"

#define ROOT_DOWN 1u
#define ROOT_UP 2u

uint32_t row_root(const struct query *q);
/* Number of the row that `id` is a part of now; 0 = gone. */
uint32_t row_now(const struct query *q, row_id id);
uint32_t row_new(struct query *q, uint32_t parent, uint32_t fn, bool inverted);
/* The row below `parent`; 0 = none. */
uint32_t row_child(const struct query *q, uint32_t parent, uint32_t fn);
void row_enter(struct query *q, uint32_t number, uint32_t parent, uint32_t fn);

#endif
