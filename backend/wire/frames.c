/* SPDX-License-Identifier: MIT */
#include "wire/frames.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 4096u  /* of a frame */
#define FULL_AT 60000u /* bytes of entries; far below MTW_FRAME_MAX */

static void start(struct frames *f)
{
	f->head = (struct mtw_out){ f->room, f->room + MTW_FRAME_MAX, false };
	f->body = (struct mtw_out){ f->room + MTW_FRAME_MAX, f->room + 2 * MTW_FRAME_MAX, false };
	f->count = f->last = 0;
}

void frames_init(struct frames *f, frames_fn fn, void *arg)
{
	*f = (struct frames){ .fn = fn, .arg = arg, .room = xmalloc(2 * MTW_FRAME_MAX) };
	start(f);
}

void frames_release(struct frames *f)
{
	free(f->room);
}

void frames_put(struct frames *f, uint64_t field)
{
	mtw_put(&f->head, field);
}

void frames_put_all(struct frames *f, const uint64_t *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mtw_put(&f->head, fields[i]);
}

void frames_string(struct frames *f, const char *text)
{
	mtw_put_string(&f->head, text ? text : "");
}

void frames_bytes(struct frames *f, const void *bytes, size_t len)
{
	mtw_put_bytes(&f->head, bytes, len);
}

void frames_entry(struct frames *f, uint64_t id)
{
	mtw_put(&f->body, id - f->last);
	f->last = id;
	f->count++;
}

void frames_point(struct frames *f)
{
	f->count++;
}

void frames_value(struct frames *f, uint64_t v)
{
	mtw_put(&f->body, v);
}

void frames_text(struct frames *f, const char *text)
{
	mtw_put_string(&f->body, text ? text : "");
}

static size_t entry_bytes(const struct frames *f)
{
	return (size_t)(f->body.at - (f->room + MTW_FRAME_MAX));
}

bool frames_full(const struct frames *f)
{
	return f->count >= ENTRIES || entry_bytes(f) >= FULL_AT;
}

void frames_end(struct frames *f, uint64_t type)
{
	if (!f->rc && !f->head.full)
		f->rc = f->fn(f->arg, type, f->room, (size_t)(f->head.at - f->room));
	start(f);
}

void frames_list(struct frames *f, uint64_t type)
{
	size_t len = entry_bytes(f);

	mtw_put(&f->head, f->count);
	if (f->body.full || len > (size_t)(f->head.end - f->head.at)) {
		f->head.full = true;
	} else {
		memcpy(f->head.at, f->room + MTW_FRAME_MAX, len);
		f->head.at += len;
	}
	frames_end(f, type);
}
