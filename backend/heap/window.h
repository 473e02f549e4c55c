/* SPDX-License-Identifier: MIT
 *
 * window.h - what was allocated and freed in the last ten seconds, by slot: the one window of all
 * rates. Whose it is: the columns'.
 *
 * The window consists of parts of about a second, which model/paths/rate.h opens and ends by the
 * ticks' times. A tick's changes are added to the newest part, and a part is taken back as a whole
 * once it ended ten seconds ago. Parts, and not the ticks themselves, because a busy slot changes
 * in each of a hundred ticks: it has one entry a second.
 */
#ifndef HEAP_WINDOW_H
#define HEAP_WINDOW_H

#include "model/paths/rate.h"

/* What one slot did in a part. A slot may have several entries. */
struct rate_entry {
	uint64_t bytes, freed;
	uint32_t blocks, slot; /* slot: by arrival */
};

/* The newest part has entries; one that ended is packed into { slot, blocks, bytes, freed } in
 * varints: a third of the memory. */
struct window_part {
	struct rate_entry *entries;
	size_t count, room;
	uint8_t *packed;
	size_t len;
};

struct window {
	struct window_part parts[RATE_PARTS];
	uint32_t first, count;
};

struct columns;
struct narrow;

void window_open(struct window *w);
/* To the newest part; none: nothing. */
void window_add(struct columns *c, uint32_t slot, const struct rate *change);
/* What a slot did in all parts is not nothing. */
bool window_has(const struct columns *c, const struct narrow *rate);
/* Fetches what a slot that is added soon has, in three steps: 0, 1, 2. */
void window_expect(const struct columns *c, uint32_t slot, unsigned step);
void window_end(struct columns *c); /* the oldest part */
/* Reads a part: *at from 0 on. */
bool window_next(const struct window_part *p, size_t *at, struct rate_entry *e);
const struct window_part *window_part(const struct window *w, uint32_t i); /* the oldest is 0 */
void window_release(struct window *w);

#endif
