/* SPDX-License-Identifier: MIT
 *
 * figures.h - the agent's figures about itself and the process. Main thread only.
 */
#ifndef MODEL_STATE_FIGURES_H
#define MODEL_STATE_FIGURES_H

#include "model/paths/event.h"

struct figures {
	uint64_t loss_events[MTW_LOSS_COUNT], loss_bytes[MTW_LOSS_COUNT];
	struct effort effort;
	struct memory_part parts[MTW_PARTS_MAX];
	size_t part_count;
	uint64_t rss, virt;
	uint32_t process_threads, process_children;
};

int figures_loss(struct figures *x, const struct event *e, struct err *err);
void figures_process(struct figures *x, const struct event *e);
void figures_memory(struct figures *x, const struct event *e);

#endif
