/* SPDX-License-Identifier: MIT
 *
 * filters.h - the filters of recording, and since when each holds. Main thread only.
 */
#ifndef MODEL_STATE_FILTERS_H
#define MODEL_STATE_FILTERS_H

#include "model/paths/event.h"

struct filters {
	struct recorded *list; /* by time */
	size_t count, room;
};

int filters_apply(struct filters *x, const struct event *e, struct err *err);
void filters_clear(struct filters *x);

#endif
