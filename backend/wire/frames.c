/* SPDX-License-Identifier: MIT */
#include "wire/frames.h"

#include "model/paths/types.h"

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

void frames_rest(struct frames *f, uint64_t type)
{
	if (f->count)
		frames_list(f, type);
}

/* The entry is whole. */
static void end_entry(struct frames *f, uint64_t type)
{
	if (frames_full(f))
		frames_list(f, type);
}

void frames_tally(struct frames *f, const struct tally *t)
{
	frames_put_all(
		f, (uint64_t[]){ t->alloc_blocks, t->alloc_bytes, t->free_blocks, t->free_bytes },
		4);
}

void frames_node(struct frames *f, uint64_t id, uint64_t kind, uint64_t parent, uint64_t module,
		 uint64_t offset)
{
	frames_entry(f, id);
	frames_value(f, kind);
	frames_value(f, parent);
	if (kind <= MTW_NODE_SIGNAL)
		frames_value(f, module);
	frames_value(f, offset);
	end_entry(f, MTW_NODES);
}

void frames_slot(struct frames *f, uint64_t id, uint64_t node, uint64_t epoch)
{
	frames_entry(f, id);
	frames_value(f, node);
	frames_value(f, epoch);
	end_entry(f, MTW_SLOTS);
}

void frames_weighed(struct frames *f, uint64_t id)
{
	frames_entry(f, id);
	frames_value(f, 1);
	end_entry(f, MTW_WEIGHED);
}

void frames_counters(struct frames *f, uint64_t id, const struct tally *t)
{
	frames_entry(f, id);
	frames_value(f, t->alloc_blocks);
	frames_value(f, t->alloc_bytes);
	frames_value(f, t->free_blocks);
	frames_value(f, t->free_bytes);
}

void frames_counts(struct frames *f, uint64_t id, const struct tally *now)
{
	frames_counters(f, id, now);
	end_entry(f, MTW_COUNTS);
}

void frames_cells_end(struct frames *f, uint64_t type, uint64_t number, bool whole)
{
	frames_put(f, number);
	frames_put(f, whole);
	frames_list(f, type);
}

void frames_cell(struct frames *f, uint64_t type, uint64_t number, uint64_t slot, uint64_t blocks,
		 uint64_t bytes)
{
	if (frames_full(f))
		frames_cells_end(f, type, number, false);
	frames_entry(f, slot);
	frames_value(f, blocks);
	frames_value(f, bytes);
}
