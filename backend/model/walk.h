/* SPDX-License-Identifier: MIT
 *
 * walk.h - carries a tick's changes from slots to all sums above them. Main thread only.
 */
#ifndef MODEL_WALK_H
#define MODEL_WALK_H

#include "model/tick.h"

struct model;

/* in slices. True: it is whole, and can take effect */
bool walk_work_out(struct model *m, uint64_t end_ns);
/* it took effect: sums and slots get what is beside them */
bool walk_fold(struct model *m, uint64_t end_ns);
void walk_undo(struct model *m); /* what was worked out is not needed: all is made anew */
void walk_forget(struct tick *x);
void walk_free(struct tick *x);

#endif
