/* SPDX-License-Identifier: MIT
 *
 * bulk.h - many ticks of which only the last state is shown. Main thread only.
 */
#ifndef MODEL_BULK_H
#define MODEL_BULK_H

#include "model/tick.h"

struct model;

uint64_t bulk_time(const struct model *m); /* of the last tick, current or not */
/* A tick while what is shown stays. */
int bulk_tick(struct model *m, uint64_t time_ns, uint32_t flags, struct err *err);

#endif
