/* SPDX-License-Identifier: MIT
 *
 * columns.h - the model's call paths and counters as the columns of a snapshot (heap/heap.h). Main
 * thread only.
 */
#ifndef MODEL_COLUMNS_H
#define MODEL_COLUMNS_H

#include "heap/heap.h"

struct model;

/* The heap as of the model's last tick, with changes in its interval; of a paced model the last
 * snapshot that is ready, whose `interval` is model_intervals() if its changes are of this one. The
 * same object as long as nothing changes: borrowed until the next event, hold it to keep it. */
struct heap *model_heap(const struct model *m);
/* For reports: the columns as they are now, siblings by the rank of their location
 * (columns_rank()), and snapshots of them from then on. Borrowed until the next event. */
const struct columns *model_ranked(const struct model *m, const uint32_t *rank, uint32_t ranks);
/* All of them, settled; columns_release() when done. Nodes arrive as they are dense in the model.
 */
void model_columns(const struct model *m, struct columns *c);
/* What each slot held at a mark, by place, in the columns as they lie now; free() it. NULL where
 * model_mark_says() is false. The start (0) held nothing. */
struct live *model_live_at(const struct model *m, const struct columns *c, uint32_t mark);

/* --- for the model */

/* A slot (dense) has other counters. */
void columns_follow(struct model *m, uint32_t slot);
/* It allocated, or freed, in the window of all rates; those entries left it, which are taken. */
void columns_rate(struct model *m, uint32_t slot, const struct rate *rate);
void columns_expire(struct model *m, struct rate_entry *entries, size_t count);
void columns_forget(struct model *m);

#endif
