/* SPDX-License-Identifier: MIT
 *
 * walk.h - carries a tick's changes from slots to all sums above them. Main thread only.
 */
#ifndef MODEL_WALK_H
#define MODEL_WALK_H

#include "model/tick.h"

struct model;

/* runs in slices. True: complete, it can take effect */
bool walk_work_out(struct model *m, uint64_t end_ns);
/* after it took effect: folds the deltas into sums and slots */
bool walk_fold(struct model *m, uint64_t end_ns);
void walk_undo(struct model *m); /* drops the deltas: all sums will be recomputed */
void walk_forget(struct tick *x);
void walk_free(struct tick *x);

#endif
