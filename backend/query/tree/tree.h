/* SPDX-License-Identifier: MIT
 *
 * tree.h - rows of the call tree: what they hold, and how they are folded.
 */
#ifndef QUERY_TREE_TREE_H
#define QUERY_TREE_TREE_H

#include "query/state.h"

/* Answers of the tree begin with it: query_now(), and the rows are where the names say. */
void tree_now(struct query *q);
void tree_clear(struct query *q);
bool tree_has_children(struct query *q, uint32_t row);
void tree_value(struct query *q, uint32_t row); /* incl, self and heavy are those of now */
/* The end of the folded chain; built unless it is the row itself. */
uint32_t tree_tail(struct query *q, uint32_t row);

#endif
