/* SPDX-License-Identifier: MIT
 *
 * shown.h - which process of the tree is shown. Main thread.
 */
#ifndef SHOWN_H
#define SHOWN_H

#include "app/front.h"

struct kept_process {
	struct shown shown;
	struct front front;
};

/* Processes that were shown before, as they were left. */
struct kept {
	struct kept_process **list; /* owned, as what it points to */
	size_t count, room;
};

void shown_watch(struct app *a, struct watch *w); /* show this process, as it was left */
/* In all views, now or when it can be; -1: it cannot. */
int shown_process(struct app *a, uint32_t id);
void shown_go_on(struct app *a); /* the processes changed: the one that is wanted may be there */
void shown_release(struct app *a);

#endif
