/* SPDX-License-Identifier: MIT
 *
 * window.h - what was allocated and freed in the last ten seconds, by slot: the one window of all
 * rates. Whose it is: the columns'.
 *
 * The window consists of parts of about a second, which model/paths/rate.h opens and ends by the
 * ticks' times. A tick's changes are added to the newest part, and a part is taken back as a whole
 * once it ended ten seconds ago. Parts, and not the ticks themselves, because a busy slot changes
 * in each of a hundred ticks: it has one entry a second.
 *
 * A part is a list of entries in units of four bits, three of them of a number: most entries take
 * three bytes, for the blocks of a slot have one size.
 */
#ifndef HEAP_WINDOW_H
#define HEAP_WINDOW_H

#include "model/paths/rate.h"

/* What one slot did in a part. A slot may have several entries. */
struct rate_entry {
	uint64_t bytes, freed;
	uint32_t blocks, slot; /* slot: by arrival */
};

struct window_part {
	uint8_t *bytes;
	size_t room, len; /* len: in units of four bits */
	size_t count;     /* entries; */
	size_t summed;    /* ... the first of them, by slot, each with one entry; */
	uint32_t last;    /* ... slot of the last one */
};
struct window_at { /* where a reader is; { 0 } = before the first entry */
	size_t at, count;
	uint32_t last;
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
/* Fetches what a slot that is added soon has, in two steps: 0, 1. */
void window_expect(const struct columns *c, uint32_t slot, unsigned step);
void window_end(struct columns *c); /* the oldest part */
bool window_next(const struct window_part *p, struct window_at *at, struct rate_entry *e);
const struct window_part *window_part(const struct window *w, uint32_t i); /* the oldest is 0 */
void window_release(struct window *w);

#endif
