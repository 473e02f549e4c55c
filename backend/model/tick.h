/* SPDX-License-Identifier: MIT
 *
 * tick.h - applies a tick: the counters that came since the last one become current. Main thread
 * only.
 */
#ifndef MODEL_TICK_H
#define MODEL_TICK_H

#include "model/model.h"
#include "model/paths/rate.h"

int tick_apply(struct model *m, uint64_t time_ns, uint32_t flags, struct err *err);
void tick_clear(struct model *m);

#endif
