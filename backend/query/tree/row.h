/* SPDX-License-Identifier: MIT
 *
 * row.h - a row of the call tree by itself: its number, its members, the names it is grouped by.
 */
#ifndef QUERY_TREE_ROW_H
#define QUERY_TREE_ROW_H

#include "query/state.h"

#define ROOT_DOWN 1u
#define ROOT_UP 2u

uint32_t row_root(const struct query *q);
uint32_t row_new(struct query *q, uint32_t parent, uint32_t fn);
void row_drop(struct query *q, uint32_t number);
void row_add_member(struct trow *r, struct member m);
/* children are grouped by the current names */
bool row_current(const struct query *q, const struct trow *r);
/* the row's step to m */
uint32_t row_renamed_at(const struct query *q, uint32_t row, const struct member *m);
static inline uint64_t member_print(const struct member *m)
{
	return hash_mix(hash_mix((uint64_t)m->index << 32 | m->leaf) + m->frame);
}
static inline uint64_t child_key(uint32_t row, uint32_t fn)
{
	return (uint64_t)row << 32 | fn;
}

#endif
