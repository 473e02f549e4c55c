/* SPDX-License-Identifier: MIT
 *
 * lines.h - live memory by the lines of one source file, for query_lines().
 */
#ifndef QUERY_SITES_LINES_H
#define QUERY_SITES_LINES_H

#include "query/state.h"

void lines_forget(struct query *q);

/* This file's lines from now on; NULL: none. False: no file. */
bool lines_choose(struct query *q, const char *file);
/* Its list, as of query_lines(). */
bool lines_list(struct query *q, const struct source_line **list, size_t *count);

#endif
