/* SPDX-License-Identifier: MIT
 *
 * marks.h - marks, and what was alive at them. Main thread only.
 */
#ifndef MODEL_MARKS_H
#define MODEL_MARKS_H

#include "model/event.h"
#include "model/trie.h"

struct marks {
	struct mark *list; /* by id */
	size_t limit, room;
	uint64_t generation;
};

int marks_check(const struct marks *x, const struct event *e, struct err *err);
bool marks_known(const struct marks *x, uint32_t id);
/* A checked MARK. resuming: it is not known before marks_arrive(). True: it cannot say any more
 * what was alive at it. */
bool marks_enter(struct marks *x, struct quota *q, const struct event *e, bool resuming);
/* A MARK_LIVE. *anew: the mark was known by slot, and is not until all has come again. */
int marks_cell(struct marks *x, struct quota *q, const struct trie *t, const struct event *e,
	       bool resuming, bool *anew, struct err *err);
void marks_arrive(struct marks *x); /* the state that they came with is whole */
void marks_clear(struct marks *x);
bool mark_in_chain(const struct mark *k); /* it is known by slot what was alive at it, or will be */

#endif
