/* SPDX-License-Identifier: MIT
 *
 * peak.h - the counters at the heap's peak, as the agent kept them. Main thread only.
 */
#ifndef MODEL_HISTORY_PEAK_H
#define MODEL_HISTORY_PEAK_H

#include "model/paths/event.h"
#include "model/paths/trie.h"

struct peak_cell {
	uint32_t slot; /* dense */
	struct tally then;
};

struct peak {
	struct peak_instant at; /* time_ns, sum; whole alone */
	bool whole;
	struct tally *then; /* by dense slot; past `room`: none */
	size_t room;
	/* of the next one, until its last part */
	uint32_t serial;
	struct peak_cell *coming;
	size_t coming_count, coming_room;
};

int peak_apply(struct peak *x, struct quota *q, const struct trie *t, const struct event *e,
	       struct err *err);
struct tally peak_of_slot(const struct peak *x, uint32_t index); /* dense */
bool peak_adds_up(const struct peak *x);                         /* its counters are its totals */
void peak_clear(struct peak *x);

#endif
