/* SPDX-License-Identifier: MIT
 *
 * procs.h - PROCS: while all processes are shown as one, how many of them hold live blocks of each
 * row. Counted when a view takes its rows, for those near the screen. Main thread.
 */
#ifndef PROCS_H
#define PROCS_H

#include "processes/processes.h"
#include "views/ui.h"

/* The rows of which it is told, all 0 at first. */
struct procs {
	uint64_t *ids; /* owned, as the next: of the rows from `first` on */
	size_t *of;
	size_t first, count, room, of_room;
};

/* The stacks of rows. */
struct procs_parts {
	const struct skeleton *skeleton; /* whose order they have */
	struct process_part *list;       /* owned */
	size_t count, room;
};
/* Adds the stacks first .. end - 1 to a row. */
void procs_add(struct procs_parts *to, size_t row, uint32_t first, uint32_t end);
/* A view's: adds the stacks of its rows first .. end - 1, as rows 0, 1, ... */
typedef void procs_rows_fn(struct view *v, size_t first, size_t end, struct procs_parts *to);

/* Is it known of what is shown? Not of one process, nor of a past instant. */
bool procs_known(const struct ui *ui);
void procs_take(struct procs *p, struct view *v, const struct list *l, procs_rows_fn *fn);
/* SIZE_MAX: not known. */
size_t procs_at(const struct procs *p, size_t row, uint64_t id);
/* After drawing: a row on screen was not counted, so another refresh is needed. */
bool procs_lack(void);
void procs_release(struct procs *p);

#endif
