/* SPDX-License-Identifier: MIT
 *
 * lines.h - all lines of a process tree.
 */
#ifndef PROCESSES_LINES_H
#define PROCESSES_LINES_H

#include "processes/internal.h"

struct line *lines_at(const struct processes *p, uint32_t id); /* NULL = none */
/* begin: CLOCK_MONOTONIC */
struct line *lines_add(struct processes *p, uint32_t parent, uint64_t begin_ns);
void lines_state(struct processes *p, struct line *l, enum process_state state);
/* by its own memory: inherited memory is its parent's */
bool lines_is_large(const struct processes *p, const struct line *l);

#endif
