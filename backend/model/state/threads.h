/* SPDX-License-Identifier: MIT
 *
 * threads.h - the threads of the program. Main thread only.
 */
#ifndef MODEL_STATE_THREADS_H
#define MODEL_STATE_THREADS_H

#include "model/paths/event.h"

struct threads {
	struct thread *list; /* by index */
	size_t count, room;
	uint64_t scan_request;
};

int threads_apply(struct threads *x, const struct event *e, struct err *err);
int threads_scanned(struct threads *x, const struct event *e, struct err *err);
void threads_clear(struct threads *x);

#endif
