/* SPDX-License-Identifier: MIT
 *
 * lines.h - live memory by the lines of one source file, for query_lines().
 */
#ifndef QUERY_SITES_LINES_H
#define QUERY_SITES_LINES_H

#include "query/state.h"

void lines_add_value(struct query *q, uint32_t index, const struct amounts *raw);
void lines_stale(struct query *q);          /* recompute sums */
uint32_t lines_left(const struct query *q); /* nodes left to sum */
void lines_forget(struct query *q);

/* Counts this file's lines from now on; NULL: none. False: no file. */
bool lines_choose(struct query *q, const char *file);
/* Its list, as of query_lines(). ready: all arrivals are in the sums. */
bool lines_list(struct query *q, bool ready, const struct source_line **list, size_t *count);

#endif
