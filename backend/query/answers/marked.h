/* SPDX-License-Identifier: MIT
 *
 * marked.h - what the query keeps for query_marks(). Main thread only.
 */
#ifndef QUERY_ANSWERS_MARKED_H
#define QUERY_ANSWERS_MARKED_H

#include "query/state.h"

void marked_forget(struct query *q);

#endif
