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

/* The saved state of processes shown earlier. */
struct kept {
	struct kept_process **list; /* owned, with all that it points to */
	size_t count, room;
};

void shown_watch(struct app *a, struct watch *w); /* restores the process's saved state */
/* Shows a process in all views, now or once its agent listens; -1: impossible. */
int shown_process(struct app *a, uint32_t id);
void shown_go_on(struct app *a); /* the processes changed: shows a pending one */
void shown_release(struct app *a);

#endif
