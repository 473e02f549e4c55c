/* SPDX-License-Identifier: MIT
 *
 * key_frames.c - decodes the frames that only key frames of a session have into events.
 */
#include "wire/reader.h"

void key_frames_read_key(struct reader *r)
{
	r->e.u.s_key.time_ns = mtw_get(&r->in);
	r->e.u.s_key.flags = get32(r);
	r->e.u.s_key.ticks = mtw_get(&r->in);
	size_t n = get_count(r, MTW_BATCH_MAX, 2);

	for (size_t i = 0; i < n && !r->in.bad; i++) {
		uint64_t looked = mtw_get(&r->in), answers = mtw_get(&r->in);
		if (i >= MTW_KIND_COUNT)
			continue; /* a later version's */
		r->e.u.s_key.looked_ns[i] = looked;
		r->e.u.s_key.answers[i] = answers;
	}
	emit(r);
}

void key_frames_read_instants(struct reader *r)
{
	size_t n = get_count(r, MTW_FRAME_MAX, 2);

	while (n-- && !r->in.bad) {
		r->e.u.s_instant.time_ns += mtw_get(&r->in);
		r->e.u.s_instant.ticks += mtw_get(&r->in);
		emit(r);
	}
}

void key_frames_read_points(struct reader *r)
{
	struct point *p = &r->e.u.s_point.point;

	r->e.u.s_point.spacing_ns = mtw_get(&r->in);
	size_t n = get_count(r, MTW_BATCH_MAX, 7);
	while (n-- && !r->in.bad) {
		p->time_ns = mtw_get(&r->in);
		p->live_bytes = mtw_get(&r->in);
		p->live_blocks = mtw_get(&r->in);
		p->alloc_bytes = mtw_get(&r->in);
		p->alloc_blocks = mtw_get(&r->in);
		p->free_blocks = mtw_get(&r->in);
		p->rss_bytes = mtw_get(&r->in);
		emit(r);
	}
}

void key_frames_read_window(struct reader *r)
{
	struct tally *c = &r->e.u.s_window.change;

	r->e.u.s_window.begin_ns = mtw_get(&r->in);
	r->e.u.s_window.before = get_tally(r);
	r->e.u.s_window.first = !mtw_get(&r->in);
	size_t n = get_count(r, MTW_BATCH_MAX, 4);
	if (r->e.u.s_window.first)
		emit(r);
	r->e.u.s_window.first = false;
	while (n-- && !r->in.bad) {
		r->e.u.s_window.slot = get_id(r, MTW_SLOTS_MAX);
		c->alloc_blocks = mtw_get(&r->in);
		c->alloc_bytes = mtw_get(&r->in);
		c->free_bytes = mtw_get(&r->in);
		emit(r);
	}
}

void key_frames_read_window_threads(struct reader *r)
{
	struct tally *then = &r->e.u.s_window_thread.then;
	size_t n = get_count(r, MTW_BATCH_MAX, 4);

	r->e.u.s_window_thread.first = true;
	if (!r->in.bad)
		emit(r);
	r->e.u.s_window_thread.first = false;
	while (n-- && !r->in.bad) {
		r->e.u.s_window_thread.thread = get_id(r, MTW_THREADS_MAX);
		then->alloc_blocks = mtw_get(&r->in);
		then->alloc_bytes = mtw_get(&r->in);
		then->free_bytes = mtw_get(&r->in);
		emit(r);
	}
}

void key_frames_read_omitted(struct reader *r)
{
	r->e.u.s_omitted.ticks = mtw_get(&r->in);
	emit(r);
}
