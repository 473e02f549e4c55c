/* SPDX-License-Identifier: MIT
 *
 * others.h - the other processes of the tree, for the lines above every view: their number, and the
 * one worth a look. Pure except for the list in processes/processes.h. Main thread.
 */
#ifndef OTHERS_H
#define OTHERS_H

#include "processes/processes.h"

struct others {
	uint32_t shown; /* id of the process that is shown */
	bool shown_runs;
	size_t running, over; /* without it; over: ended, or not followed */
	uint32_t look;        /* id of the process in hint; 0 = none */
	char hint[128];       /* "cc1plus [4188] grows more: +12.0M/min"; "" = none */
};

/* `w` watches the shown process. */
void others_take(struct others *o, const struct processes *p, const struct watch *w);
size_t others_watches(const struct processes *p); /* count with a live link */
/* count with a mark of this name */
size_t others_marked(const struct processes *p, const char *name);
/* The process that w watches; NULL = none. */
const struct process *others_watched(const struct process *list, size_t count,
				     const struct watch *w);
/* `grows`: the process that grows more, or NULL. Sets look and hint. */
void others_judge(struct others *o, const struct process *shown, const struct process *grows,
		  const struct process *list, size_t count);

#endif
