/* SPDX-License-Identifier: MIT */
#include "link/thin/thin.h"

#include "link/thin/stream.h"

#include <errno.h>
#include <stdlib.h>

struct thin {
	struct session_thinning *job;
	struct session_reader *in;
	struct thinned *streams; /* of the job's */
	struct frames to;        /* of all of them */
	size_t at;               /* of these, the last frame's */
	struct err err;
	bool damaged;
};

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void begin(struct thin *t)
{
	const struct session_thinning *job = t->job;

	t->streams = xcalloc(job->count + 1, sizeof *t->streams);
	for (size_t i = 0; i < job->count; i++) {
		struct session_ticks *of = &job->streams[i];
		t->streams[i].of = of;
		t->streams[i].from = job->from;
		t->streams[i].out = job->to;
		t->streams[i].to = &t->to;
		qsort(of->pins, of->pin_count, sizeof *of->pins, by_time);
	}
}

static void take_frame(struct thin *t, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		       size_t len)
{
	uint32_t stream = session_stream(t->in);

	if (t->at == t->job->count || t->streams[t->at].of->stream != stream)
		for (t->at = 0; t->at < t->job->count; t->at++)
			if (t->streams[t->at].of->stream == stream)
				break;
	t->damaged |= t->at == t->job->count;
	if (t->damaged)
		return;
	struct thinned *s = &t->streams[t->at];
	while (s->key_at < s->of->key_count &&
	       session_block(t->in) >= s->of->keys[s->key_at].resume)
		thinned_key(s);
	thinned_take(s, time_ns, type, payload, len);
	t->damaged |= s->damaged;
	if (*s->err.text)
		t->err = s->err;
}

static void copy(struct thin *t)
{
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;
	int rc = 0;

	while (!t->damaged && !*t->err.text && !t->job->stop &&
	       (rc = session_next(t->in, &time_ns, &type, &payload, &len, NULL)) > 0)
		take_frame(t, time_ns, type, payload, len);
	t->damaged |= rc < 0;
	for (size_t i = 0; i < t->job->count && !t->damaged && !t->job->stop; i++) {
		struct thinned *s = &t->streams[i];
		while (s->key_at < s->of->key_count)
			thinned_key(s);
		thinned_drain(s);
		if (*s->err.text)
			t->err = s->err;
	}
}

/* What a damaged or unreadable file, or a full disk, leaves. */
static int finish(struct thin *t)
{
	struct session_writer *to = t->job->to;

	session_flush(to, &t->err);
	if (session_why(to))
		return session_why(to);
	return t->damaged || *t->err.text ? EIO : 0;
}

int thin_file(struct session_thinning *job)
{
	struct thin t = { .job = job };

	t.in = session_open(job->from, SESSION_ALL, &t.err);
	if (!t.in)
		return EIO;
	session_limit(t.in, job->bytes);
	frames_init(&t.to, thinned_write, NULL);
	begin(&t);
	copy(&t);
	int why = finish(&t);
	for (size_t i = 0; i < job->count; i++)
		thinned_release(&t.streams[i]);
	free(t.streams);
	frames_release(&t.to);
	session_reader_free(t.in);
	return why;
}
