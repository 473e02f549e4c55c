/* SPDX-License-Identifier: MIT */
#include "link/thin/thin.h"

#include "link/thin/stream.h"
#include "wire/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct thin {
	const char *from;
	struct session_reader *in;
	struct session_writer *out;
	struct thinned **streams;
	size_t count, room;
	struct err err;
	bool damaged;
};

static struct thinned *stream_of(struct thin *t, uint32_t number)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->streams[i]->stream == number)
			return t->streams[i];
	struct thinned *s = xcalloc(1, sizeof *s);
	s->stream = number;
	s->from = t->from;
	GROW(t->streams, t->room, t->count + 1);
	return t->streams[t->count++] = s;
}

static void pin(struct thinned *s, uint64_t time_ns)
{
	GROW(s->pins, s->pin_room, s->pin_count + 1);
	s->pins[s->pin_count++] = time_ns;
}

static int on_first(void *arg, const struct event *e, struct err *err)
{
	struct thinned *s = arg;

	(void)err;
	if (e->type == MTW_MARK)
		pin(s, e->u.mark.time_ns);
	if (e->type == MTW_TOTALS)
		s->totals_ns = e->u.totals.peak_time_ns;
	if (e->type == MTW_PEAK)
		s->peak_ns = e->u.peak.time_ns;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void list_keys(struct thin *t, struct thinned *s, uint64_t bytes)
{
	struct session_reader *r = session_open(t->from, s->stream, &t->err);
	const struct session_key *keys;

	if (!r)
		return;
	session_limit(r, bytes);
	s->key_count = session_keys(r, &keys);
	s->keys = xmalloc((s->key_count + 1) * sizeof *s->keys);
	if (s->key_count)
		memcpy(s->keys, keys, s->key_count * sizeof *s->keys);
	session_reader_free(r);
}

/* What the rule needs to know before the first tick. */
static void look_ahead(struct thin *t, uint64_t bytes)
{
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;
	int rc;

	while ((rc = session_next(t->in, &time_ns, &type, &payload, &len, NULL)) > 0) {
		struct thinned *s = stream_of(t, session_stream(t->in));
		if (type == MTW_TICK)
			s->end_ns = time_ns;
		if (type == MTW_MARK || type == MTW_TOTALS || type == MTW_PEAK)
			t->damaged |= wire_read(type, payload, len, on_first, s, &t->err) != 0;
	}
	t->damaged |= rc < 0;
	for (size_t i = 0; i < t->count && !t->damaged; i++) {
		struct thinned *s = t->streams[i];
		pin(s, s->totals_ns);
		pin(s, s->peak_ns);
		qsort(s->pins, s->pin_count, sizeof *s->pins, by_time);
		if (s->stream != SESSION_TABLE)
			list_keys(t, s, bytes);
	}
	session_rewind(t->in);
}

static void take_frame(struct thin *t, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		       size_t len)
{
	struct thinned *s = stream_of(t, session_stream(t->in));

	s->out = t->out;
	while (s->key_at < s->key_count && session_block(t->in) >= s->keys[s->key_at].resume)
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

	while (!t->damaged && !*t->err.text &&
	       (rc = session_next(t->in, &time_ns, &type, &payload, &len, NULL)) > 0)
		take_frame(t, time_ns, type, payload, len);
	t->damaged |= rc < 0;
	for (size_t i = 0; i < t->count && !t->damaged; i++) {
		while (t->streams[i]->key_at < t->streams[i]->key_count)
			thinned_key(t->streams[i]);
		thinned_drain(t->streams[i]);
		if (*t->streams[i]->err.text)
			t->err = t->streams[i]->err;
	}
}

static bool tell_kept(const struct thin *t, int kept)
{
	bool good = true;

	for (size_t i = 0; i < t->count && good; i++) {
		const struct thinned *s = t->streams[i];
		const uint64_t head[2] = { s->stream, s->ticks.count };
		size_t bytes = s->ticks.count * sizeof *s->ticks.kept;
		good = write(kept, head, sizeof head) == sizeof head &&
		       (!bytes || write(kept, s->ticks.kept, bytes) == (ssize_t)bytes);
	}
	return good;
}

static void release(struct thin *t)
{
	for (size_t i = 0; i < t->count; i++)
		thinned_free(t->streams[i]);
	free(t->streams);
	session_reader_free(t->in);
}

/* What a damaged or unreadable file, or a full disk, leaves. */
static int finish(struct thin *t)
{
	struct err last = { 0 };
	int why = t->damaged || (*t->err.text && !session_why(t->out)) ? EIO : 0;

	session_flush(t->out, &last);
	why = why ? why : session_why(t->out);
	if (session_close(t->out, &last) && !why)
		why = EIO;
	return why;
}

int thin_file(const char *from, uint64_t bytes, const char *to, int kept)
{
	struct thin t = { .from = from };

	t.in = session_open(from, SESSION_ALL, &t.err);
	if (!t.in)
		return EIO;
	session_limit(t.in, bytes);
	look_ahead(&t, bytes);
	t.out = session_create(to, 0, &t.err);
	int why = t.out ? 0 : errno ? errno : EIO;
	if (t.out) {
		copy(&t);
		why = finish(&t);
	}
	if (!why && kept >= 0 && !tell_kept(&t, kept))
		why = EIO;
	release(&t);
	return why;
}
