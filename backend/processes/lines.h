/* SPDX-License-Identifier: MIT
 *
 * lines.h - all lines of a process tree.
 */
#ifndef PROCESSES_LINES_H
#define PROCESSES_LINES_H

#include "processes/tree_state.h"

struct line *lines_at(const struct processes *p, uint32_t id); /* NULL = none */
/* begin: CLOCK_MONOTONIC */
struct line *lines_add(struct processes *p, uint32_t parent, uint64_t begin_ns);
void lines_state(struct processes *p, struct line *l, enum process_state state);
/* by its own memory: inherited memory is its parent's */
bool lines_is_large(const struct processes *p, const struct line *l);

/* Whose memory is counted: in the tree's live amount, for each line. */
struct line_share {
	bool held;     /* what it holds counts: it runs, or nothing does */
	uint32_t with; /* what that line inherited (itself, or a fork that it descends from) counts
			* for an older process; 0: all that it has is its own */
};
void lines_shares(const struct processes *p, struct line_share *shares); /* [id] */
/* ... as it was at an instant of the tree's clock: then those that had begun are held, and if any
 * process runs now, only those that had not ended. */
void lines_shares_at(const struct processes *p, uint64_t time_ns, struct line_share *shares);
/* From when on what it inherited counts for it: all that have it and are older had ended. 0: it
 * inherited nothing; UINT64_MAX: not so far. */
uint64_t lines_heir_from(const struct processes *p, uint32_t id);
/* As processes_total(), of the lines that count (NULL: all); dropped ones always do. */
void lines_total(const struct processes *p, bool (*counts)(void *arg, const struct line *l),
		 void *arg, struct processes_sum *sum);

#endif
