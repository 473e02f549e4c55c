/* SPDX-License-Identifier: MIT
 *
 * samples.h - the agent's samples, by which growth is judged. Main thread only.
 */
#ifndef MODEL_HISTORY_SAMPLES_H
#define MODEL_HISTORY_SAMPLES_H

#include "model/paths/event.h"
#include "model/paths/trie.h"

struct samples {
	struct sample list[MTW_SAMPLES_MAX];
	size_t count, last; /* last: the one found last */
	bool told, totals_only;
	uint64_t generation;
};

int samples_apply(struct samples *x, struct quota *q, const struct event *e, struct err *err);
/* t: whose slots there are; NULL = any */
int samples_cell(struct samples *x, struct quota *q, const struct trie *t, const struct event *e,
		 bool resuming, struct err *err);
void samples_clear(struct samples *x);

#endif
