/* SPDX-License-Identifier: MIT
 *
 * follow.h - adds a stack's change wherever the stack is counted.
 */
#ifndef QUERY_FEED_FOLLOW_H
#define QUERY_FEED_FOLLOW_H

#include "query/state.h"

/* raw: the unfiltered change of the stack */
void feed_follow(struct query *q, uint32_t index, const struct amounts *raw);

#endif
