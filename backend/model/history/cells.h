/* SPDX-License-Identifier: MIT
 *
 * cells.h - each slot's live amount at an instant (struct mark_cells). Main thread only.
 */
#ifndef MODEL_HISTORY_CELLS_H
#define MODEL_HISTORY_CELLS_H

#include "model/paths/types.h"
#include "model/paths/quota.h"

int cells_add(struct quota *q, struct mark_cells *k, struct mark_cell cell, struct err *err);
void cells_finish(struct mark_cells *k); /* all cells have arrived */
void cells_merge(struct quota *q, struct mark_cells *k, const struct mark_cells *older);
void cells_forget(struct quota *q, struct mark_cells *k);

#endif
