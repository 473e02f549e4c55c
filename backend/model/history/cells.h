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
/* As MTW_MARK_LIVE or MTW_SAMPLE_LIVE frames; whole: the last one says so. fn's result, when it is
 * not 0, ends the writing and is returned. */
int cells_write(const struct mark_cells *k, uint64_t type, uint32_t number, bool whole,
		int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len), void *arg);

#endif
