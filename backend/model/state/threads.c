/* SPDX-License-Identifier: MIT */
#include "model/state/state.h"

#include <string.h>

static struct thread *thread_at(struct threads *x, uint32_t index)
{
	GROW(x->list, x->room, (size_t)index + 1);
	if (index >= x->count)
		x->count = (size_t)index + 1;
	return &x->list[index];
}

int threads_apply(struct threads *x, const struct event *e, struct err *err)
{
	if (e->u.thread.index >= MTW_THREADS_MAX)
		return err_set(err, 3, "stream: thread %u is out of range; connect again",
			       e->u.thread.index);
	struct thread *t = thread_at(x, e->u.thread.index);
	size_t len = e->u.thread.name.len;
	t->known = true;
	t->ended = e->u.thread.ended;
	t->tid = e->u.thread.tid;
	t->done = e->u.thread.done;
	if (len >= sizeof t->name)
		len = sizeof t->name - 1;
	memcpy(t->name, e->u.thread.name.s, len);
	t->name[len] = 0;
	return 0;
}

int threads_scanned(struct threads *x, const struct event *e, struct err *err)
{
	if (e->u.scan_thread.thread >= MTW_THREADS_MAX)
		return err_set(
			err, 3,
			"stream: a scan names thread %u, which is out of range; connect again",
			e->u.scan_thread.thread);
	if (e->u.scan_thread.request != x->scan_request) {
		x->scan_request = e->u.scan_thread.request;
		for (size_t i = 0; i < x->count; i++)
			x->list[i].live_blocks = x->list[i].live_bytes = 0;
	}
	struct thread *t = thread_at(x, e->u.scan_thread.thread);
	/* "other threads": a scan sums those in it that it has no room for, and no frame tells of
	 * it while each thread has a number */
	t->known |= !e->u.scan_thread.thread && e->u.scan_thread.blocks;
	t->live_blocks = e->u.scan_thread.blocks;
	t->live_bytes = e->u.scan_thread.bytes;
	return 0;
}

struct rate thread_done(const struct threads *x, uint32_t index)
{
	const struct tally *t = &x->list[index].done;

	return (struct rate){ t->alloc_bytes, t->alloc_blocks, t->free_bytes };
}

size_t threads_done(const struct threads *x, struct rate **list)
{
	*list = xcalloc(x->count + 1, sizeof **list);
	for (size_t i = 0; i < x->count; i++)
		(*list)[i] = thread_done(x, (uint32_t)i);
	return x->count;
}

void threads_clear(struct threads *x)
{
	x->count = 0;
	if (x->room)
		memset(x->list, 0, x->room * sizeof *x->list);
	x->scan_request = 0;
}
