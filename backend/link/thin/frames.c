/* SPDX-License-Identifier: MIT */
#include "link/thin/stream.h"

#include <memtop/wire.h>
#include <stdlib.h>
#include <string.h>

void frames_hold(struct frames *f, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		 size_t len)
{
	GROW(f->list, f->room, f->count + 1);
	GROW(f->bytes, f->bytes_room, f->len + len + 1);
	f->list[f->count++] = (struct frame){ time_ns, type, f->len, len };
	if (len)
		memcpy(f->bytes + f->len, payload, len);
	f->len += len;
}

void frames_drop(struct frames *f)
{
	f->count = f->len = 0;
}

uint64_t frames_number(const struct frames *f, size_t i, unsigned nth)
{
	const uint8_t *at = f->bytes + f->list[i].at;
	struct mtw_in in = { at, at + f->list[i].len, false };
	uint64_t v = mtw_get(&in);

	while (nth--)
		v = mtw_get(&in);
	return in.bad ? 0 : v;
}

size_t frames_next(const struct frames *f, size_t i, uint64_t type)
{
	for (i++; i < f->count; i++)
		if (f->list[i].type == type)
			return i;
	return SIZE_MAX;
}

void frames_free(struct frames *f)
{
	free(f->list);
	free(f->bytes);
}
