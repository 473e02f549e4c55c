/* SPDX-License-Identifier: MIT
 *
 * columns.h - the session's call paths and counters (heap/columns.h), and the snapshots of them
 * (heap/heap.h). Main thread only.
 *
 * What the wire says of them waits in a list until something else comes (a tick, say), for they
 * come by the thousand; then it is taken, and a contradiction is the error of that event. As soon
 * as so much is looked at that it is worth a thread, a worker takes it with the next snapshot, and
 * a contradiction is the error of a later event.
 */
#ifndef MODEL_COLUMNS_H
#define MODEL_COLUMNS_H

#include "heap/heap.h"

struct model;
struct heap_event;

/* The heap as of the model's last tick, with changes in its interval; of a paced model the last
 * snapshot that is ready, whose `interval` is model_intervals() if its changes are of this one. The
 * same object as long as nothing changes: borrowed until the next event, hold it to keep it. */
struct heap *model_heap(const struct model *m);
/* The columns as of the last tick, settled; waits for a worker. Borrowed until the next event. */
const struct columns *model_columns(const struct model *m);
/* For reports: the same, siblings by the rank of their location (columns_rank()), and snapshots of
 * them from then on. */
const struct columns *model_ranked(const struct model *m, const uint32_t *rank, uint32_t ranks);
/* What each slot held at a mark, by place; live_list_release() it. No list where model_mark_says()
 * is false. The start (0) held nothing. */
struct live_list model_live_at(const struct model *m, const struct columns *c, uint32_t mark);
/* The same by order of arrival; free() it. NULL: no list. */
struct live *model_held_at(const struct model *m, const struct slots *s, uint32_t mark);
/* For the model. */

void maker_init(struct model *m);
void maker_release(struct model *m);
int maker_put(struct model *m, const struct heap_event *e, struct err *err);
/* Takes what waits, unless a worker will. -1 and *err: one of it, or of what a worker took. */
int maker_take(struct model *m, struct err *err);
/* All of it is in the columns, and no worker has them. False: one has, or has it now; model_full()
 * until it is done, so that asking again helps. */
bool maker_settled(struct model *m);

#endif
