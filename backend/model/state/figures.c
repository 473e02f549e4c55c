/* SPDX-License-Identifier: MIT */
#include "model/state/state.h"

int figures_loss(struct figures *x, const struct event *e, struct err *err)
{
	unsigned r = e->u.loss.reason;

	if (r >= MTW_LOSS_COUNT)
		return err_set(err, 3, "stream: loss reason %u is unknown; connect again", r);
	x->loss_events[r] = e->u.loss.events;
	x->loss_bytes[r] = e->u.loss.bytes;
	return 0;
}

void figures_process(struct figures *x, const struct event *e)
{
	x->rss = e->u.process.rss;
	x->virt = e->u.process.virt;
	x->process_threads = (uint32_t)e->u.process.threads;
	x->process_children = (uint32_t)e->u.process.children;
}

void figures_memory(struct figures *x, const struct event *e)
{
	x->part_count = e->u.memory.count;
	for (size_t i = 0; i < x->part_count; i++) {
		const struct text *name = &e->u.memory.parts[i].name;
		snprintf(x->parts[i].name, sizeof x->parts[i].name, "%.*s", (int)name->len,
			 name->s);
		x->parts[i].bytes = e->u.memory.parts[i].bytes;
	}
}
