/* SPDX-License-Identifier: MIT
 *
 * watches.h - opens a watch for each process that matters, and copies its figures to the line.
 */
#ifndef PROCESSES_WATCHES_H
#define PROCESSES_WATCHES_H

#include "processes/tree_state.h"

struct line *watches_one(struct processes *p, struct watch *w); /* of a file without a table */
void watches_care(struct processes *p); /* opens and closes watches, takes their figures */
void watches_figures(struct processes *p, struct line *l); /* takes those of its watch */
/* Has it an agent that can be connected to, or that waits for that? Next: *t leads to it. */
bool watches_may(const struct line *l);
void watches_target(struct processes *p, struct line *l, struct target *t);
/* says why a fork that mattered has no session */
void watches_explain(struct processes *p, struct line *l);

#endif
