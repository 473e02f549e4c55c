/* SPDX-License-Identifier: MIT
 *
 * rows.h - the rows on screen (query_rows()).
 */
#ifndef QUERY_ANSWERS_ROWS_H
#define QUERY_ANSWERS_ROWS_H

#include "query/state.h"

int64_t rows_key(const struct query *q, uint32_t row); /* by the sort column */

#endif
