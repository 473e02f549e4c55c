/* SPDX-License-Identifier: MIT
 *
 * frames.h - frames that are held back. Any thread.
 */
#ifndef LINK_THIN_FRAMES_H
#define LINK_THIN_FRAMES_H

#include "base/base.h"

struct frame {
	uint64_t time_ns, type;
	size_t at, len; /* in bytes */
};

struct frames {
	struct frame *list;
	size_t count, room;
	uint8_t *bytes;
	size_t len, bytes_room;
};

void frames_hold(struct frames *f, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		 size_t len);
void frames_drop(struct frames *f); /* all of them; the memory stays */
void frames_free(struct frames *f);
/* A number of the payload; 0: it has no such. */
uint64_t frames_number(const struct frames *f, size_t i, unsigned nth);
/* The next one of the type behind i; SIZE_MAX = none. */
size_t frames_next(const struct frames *f, size_t i, uint64_t type);

#endif
