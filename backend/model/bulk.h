/* SPDX-License-Identifier: MIT
 *
 * bulk.h - many ticks of which only the last state is shown. Main thread only.
 */
#ifndef MODEL_BULK_H
#define MODEL_BULK_H

#include "model/tick.h"

struct model;

/* a COUNTS entry: checked and staged by bulk_take(), in the order of arrival. -1 and *err as that
 */
int bulk_counts(struct model *m, uint32_t slot, const struct tally *now, struct err *err);
/* before any other event. -1 and *err as tick_stage() */
int bulk_take(struct model *m, struct err *err);
/* What came is the state, and not what a tick changed. -1 and *err as tick_stage() */
int bulk_restore(struct model *m, struct err *err);
uint64_t bulk_time(const struct model *m); /* of the last tick, current or not */
void bulk_tick(struct model *m, uint64_t time_ns, uint32_t flags);

#endif
