/* SPDX-License-Identifier: MIT
 *
 * reader.h - a payload being read, for the files of wire/ alone.
 */
#ifndef WIRE_READER_H
#define WIRE_READER_H

#include "model/paths/event.h"

struct reader {
	struct mtw_in in;
	struct event e;
	int (*fn)(void *arg, const struct event *e, struct err *err);
	void *arg;
	struct err *err;
	bool stopped; /* fn returned non-zero: its *err stands */
};

static inline bool emit(struct reader *r)
{
	if (r->in.bad)
		return false;
	if (r->fn(r->arg, &r->e, r->err))
		r->stopped = r->in.bad = true;
	return !r->in.bad;
}

static inline uint32_t get32(struct reader *r)
{
	return (uint32_t)mtw_get_below(&r->in, (uint64_t)UINT32_MAX + 1);
}

static inline uint32_t get_id(struct reader *r, uint32_t limit)
{
	return (uint32_t)mtw_get_below(&r->in, limit);
}

/* The next id of a batch: differences are taken modulo 2^64, so that any order can be written. */
static inline uint32_t get_delta(struct reader *r, uint64_t *before, uint32_t limit)
{
	*before += mtw_get(&r->in);
	if (*before == 0 || *before >= limit)
		r->in.bad = true;
	return r->in.bad ? 0 : (uint32_t)*before;
}

/* A count of entries that each take at least `least` bytes. */
static inline size_t get_count(struct reader *r, size_t max, size_t least)
{
	uint64_t n = mtw_get(&r->in);

	if (n > max || n > (uint64_t)(r->in.end - r->in.at) / least) {
		r->in.bad = true;
		return 0;
	}
	return (size_t)n;
}

static inline struct text get_text(struct reader *r, size_t max)
{
	struct text t;

	t.s = mtw_get_bytes(&r->in, max, &t.len);
	if (t.len && memchr(t.s, 0, t.len))
		r->in.bad = true;
	return t;
}

static inline struct tally get_tally(struct reader *r)
{
	struct tally t;

	t.alloc_blocks = mtw_get(&r->in);
	t.alloc_bytes = mtw_get(&r->in);
	t.free_blocks = mtw_get(&r->in);
	t.free_bytes = mtw_get(&r->in);
	return t;
}

/* wire/scans.c: results of the agent's scans of live blocks */
void scans_read_threads(struct reader *r);
void scans_read_ages(struct reader *r);
void scans_read_memory(struct reader *r);
void scans_read_cohorts(struct reader *r);

/* wire/key_frames.c: frames of session files' key frames */
void key_frames_read_key(struct reader *r);
void key_frames_read_instants(struct reader *r);
void key_frames_read_points(struct reader *r);
void key_frames_read_window(struct reader *r);
void key_frames_read_window_threads(struct reader *r);
void key_frames_read_omitted(struct reader *r);

#endif
