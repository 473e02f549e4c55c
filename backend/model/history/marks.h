/* SPDX-License-Identifier: MIT
 *
 * marks.h - marks, and what was alive at them. Main thread only.
 */
#ifndef MODEL_HISTORY_MARKS_H
#define MODEL_HISTORY_MARKS_H

#include "model/paths/event.h"
#include "model/paths/trie.h"

struct marks {
	struct mark *list; /* by id */
	size_t limit, room;
	uint64_t generation;
	uint64_t chain; /* model_marks_chain() */
};

int marks_check(const struct marks *x, const struct event *e, struct err *err);
bool marks_known(const struct marks *x, uint32_t id);
/* Enters a checked MARK. resuming: it is unknown until marks_arrive(). True: its live amounts
 * are lost. */
bool marks_enter(struct marks *x, struct quota *q, const struct event *e, bool resuming);
/* Enters a MARK_LIVE. *anew: the mark was known by slot, and is unknown until all cells have
 * arrived again. */
int marks_cell(struct marks *x, struct quota *q, const struct trie *t, const struct event *e,
	       bool resuming, bool *anew, struct err *err);
void marks_arrive(struct marks *x); /* the state that they arrived with is complete */
void marks_clear(struct marks *x);
bool mark_in_chain(const struct mark *k); /* its live amounts by slot are known, or will be */

#endif
