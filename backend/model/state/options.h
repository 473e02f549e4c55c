/* SPDX-License-Identifier: MIT
 *
 * options.h - the agent's options, as the agent reports them. Main thread only.
 */
#ifndef MODEL_STATE_OPTIONS_H
#define MODEL_STATE_OPTIONS_H

#include "model/paths/event.h"

#define OPTIONS_MAX 256u

struct option {
	char *name, *value, *who;
};

struct options {
	struct option list[OPTIONS_MAX];
	size_t count;
};

int options_apply(struct options *x, const struct event *e, struct err *err);
const char *options_value(const struct options *x, const char *name); /* NULL = not reported */
void options_clear(struct options *x);

#endif
