/* SPDX-License-Identifier: MIT
 *
 * places.h - where rows are after names came, or inlined functions got rows of their own.
 */
#ifndef QUERY_TREE_PLACES_H
#define QUERY_TREE_PLACES_H

#include "query/state.h"

/* Of the new names. Call it before the first answer of them. */
void places_find(struct query *q);

#endif
