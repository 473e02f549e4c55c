/* SPDX-License-Identifier: MIT
 *
 * modules.h - the modules of the program. Main thread only.
 */
#ifndef MODEL_STATE_MODULES_H
#define MODEL_STATE_MODULES_H

#include "model/paths/event.h"

struct modules {
	struct module *list; /* by id */
	size_t count, room;
};

/* main: the main program's name; NULL = unknown. -1 and *err */
int modules_apply(struct modules *x, const struct event *e, const char *main, struct err *err);
bool modules_know(const struct modules *x, uint32_t id);
void modules_clear(struct modules *x);

#endif
