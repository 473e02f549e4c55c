/* SPDX-License-Identifier: MIT
 *
 * inlined.h - inlined functions as rows of their own, or merged (query_set_inlined()).
 */
#ifndef QUERY_TREE_INLINED_H
#define QUERY_TREE_INLINED_H

#include "query/state.h"

/* Finds the row zoomed into. False: no step was left. */
bool inlined_find(struct query *q, size_t level);

#endif
