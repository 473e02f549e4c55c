/* SPDX-License-Identifier: MIT
 *
 * columns.h - the model's call paths and counters as the columns of a snapshot (heap/heap.h). Main
 * thread only.
 */
#ifndef MODEL_COLUMNS_H
#define MODEL_COLUMNS_H

#include "heap/columns.h"

struct model;

/* All of them, settled; columns_release() when done. Nodes arrive as they are dense in the model.
 */
void model_columns(const struct model *m, struct columns *c);
/* What each slot held at a mark, by place, in the columns as they lie now; free() it. NULL where
 * model_mark_says() is false. The start (0) held nothing. */
struct live *model_live_at(const struct model *m, const struct columns *c, uint32_t mark);

#endif
