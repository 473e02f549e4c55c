/* SPDX-License-Identifier: MIT */
#include "link/thin/stream.h"

#include <memtop/wire.h>
#include <stdlib.h>
#include <string.h>

void held_add(struct held *f, uint64_t time_ns, uint64_t type, const uint8_t *payload, size_t len)
{
	GROW(f->list, f->room, f->count + 1);
	GROW(f->bytes, f->bytes_room, f->len + len + 1);
	f->list[f->count++] = (struct held_frame){ time_ns, type, f->len, len };
	if (len)
		memcpy(f->bytes + f->len, payload, len);
	f->len += len;
}

void held_drop(struct held *f)
{
	f->count = f->len = 0;
}

uint64_t held_number(const struct held *f, size_t i, unsigned nth)
{
	return session_number(f->bytes + f->list[i].at, f->list[i].len, nth);
}

size_t held_next(const struct held *f, size_t i, uint64_t type)
{
	for (i++; i < f->count; i++)
		if (f->list[i].type == type)
			return i;
	return SIZE_MAX;
}

void held_free(struct held *f)
{
	free(f->list);
	free(f->bytes);
}
