/* SPDX-License-Identifier: MIT
 *
 * rows.h - the rows on screen (query_rows()).
 */
#ifndef QUERY_ANSWERS_ROWS_H
#define QUERY_ANSWERS_ROWS_H

#include "query/state.h"

int64_t rows_key(const struct query *q, uint32_t row); /* by the sort column */
void rows_sort(struct query *q, struct trow *r);       /* its children, whose values are known */
bool rows_empty(const struct query *q, uint32_t row);  /* nothing is held, now or in the interval */
/* Does the search hit the function (its number, or NO_ID)? */
bool rows_hit(struct query *q, uint32_t fn);

#endif
