/* SPDX-License-Identifier: MIT
 *
 * key.c - copies key frames into a session that is thinned: with the instants that are left.
 */
#include "link/thin/stream.h"

#include "session/key.h"
#include "wire/decode.h"

#include <stdlib.h>

struct key_copy {
	const struct thinned *s;
	struct session_key_out *out;
	struct frames to; /* into `out` */
	struct instant before;
};

static bool is_left(const struct session_ticks *x, uint64_t tick)
{
	size_t at = thin_first(x->kept, x->kept_count, tick);

	return at < x->kept_count && x->kept[at] == tick;
}

static int on_instant(void *arg, const struct event *e, struct err *err)
{
	struct key_copy *k = arg;
	const struct instant *x = &e->u.s_instant;

	(void)err;
	if (!is_left(k->s->of, x->ticks))
		return 0;
	frames_value(&k->to, x->time_ns - k->before.time_ns);
	frames_value(&k->to, x->ticks - k->before.ticks);
	frames_point(&k->to);
	k->before = *x;
	return 0;
}

/* Only those that are still there. */
static void copy_instants(struct key_copy *k, const uint8_t *payload, size_t len)
{
	struct err none = { 0 };

	k->before = (struct instant){ 0 };
	wire_read(MTW_S_INSTANTS, payload, len, on_instant, k, &none);
	frames_rest(&k->to, MTW_S_INSTANTS);
}

/* The blocks; NULL: it is damaged. */
static uint8_t *copy_key(const struct thinned *s, const struct session_key *key, uint64_t resume,
			 size_t *len)
{
	struct err none = { 0 };
	struct session_reader *r = session_open(s->from, s->of->stream, &none);
	struct key_copy k = { .s = s };
	const uint8_t *payload;
	uint64_t time_ns, type = 0;
	size_t n;

	if (!r)
		return NULL;
	if (session_start_at(r, key))
		while (type != MTW_S_KEY &&
		       session_next(r, &time_ns, &type, &payload, &n, NULL) > 0) {
			if (!k.out) {
				k.out = session_key_new(s->of->stream, resume, time_ns, key->ticks);
				frames_init(&k.to, session_key_frame, k.out);
			}
			if (type == MTW_S_INSTANTS)
				copy_instants(&k, payload, n);
			else
				session_key_frame(k.out, type, payload, n);
		}
	session_reader_free(r);
	frames_release(&k.to);
	uint8_t *blocks = k.out ? session_key_end(k.out, len) : NULL;
	if (type == MTW_S_KEY)
		return blocks;
	free(blocks);
	return NULL;
}

/* The newest one stays, and those that are as far apart as new ones are. */
void thinned_key(struct thinned *s)
{
	const struct session_key *key = &s->of->keys[s->key_at++];
	size_t len;

	if (key->ticks != s->ticks.read ||
	    (s->key_at < s->of->key_count && !session_key_due(s->out, s->of->stream, false)))
		return;
	thinned_drain(s);
	uint64_t resume = session_key_resume(s->out, s->of->stream);
	if (!resume)
		return;
	uint8_t *blocks = copy_key(s, key, resume, &len);
	if (blocks)
		session_put_key(s->out, s->of->stream, blocks, len, &s->err);
	free(blocks);
	session_key_over(s->out);
}
