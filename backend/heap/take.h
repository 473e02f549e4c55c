/* SPDX-License-Identifier: MIT
 *
 * take.h - what the wire says of call paths and counters, in its order, and how the columns take
 * it. Who follows a session puts it into a list (struct heap_batch); whose the columns are takes
 * the list. A claim that contradicts the session is an error, at which the rest of the list is
 * dropped.
 */
#ifndef HEAP_TAKE_H
#define HEAP_TAKE_H

#include "heap/columns.h"

enum heap_event_type {
	HEAP_NODE,       /* id, of: its parent; number: its location */
	HEAP_SLOT,       /* id, of: its node; number: its epoch */
	HEAP_COUNTS,     /* id: of a slot; t: cumulative */
	HEAP_WEIGHED,    /* id: of a slot; on: it counts estimates from samples now */
	HEAP_PROVEN,     /* id: of a node, which is by_pointer */
	HEAP_CELL,       /* id: of a slot, which a mark (number) names; on: a sample */
	HEAP_PEAK,       /* the parts of a peak begin */
	HEAP_PEAK_CELL,  /* id: of a slot; t: what it had */
	HEAP_PEAK_WHOLE, /* t: the sum of all */
	HEAP_TICK,       /* the counters are current; on: what they grew by counts for the rates */
	HEAP_PART,       /* a part of the window of rates begins; */
	HEAP_PART_ENDS,  /* the oldest leaves it */
	HEAP_RATE,       /* id: of a slot; t: what it did in the newest part (of a key frame) */
	HEAP_EPOCH,      /* number: the first one that a fork did not inherit */
};

struct heap_event {
	uint8_t type; /* enum heap_event_type */
	bool on;
	uint32_t id, of;
	uint64_t number;
	struct tally t;
};

/* Packed, in varints: a fifth of the memory of the events, which wait by the hundred thousand. */
struct heap_batch {
	uint8_t *bytes;
	size_t len, room, count;
	uint32_t last; /* id of the last one */
};
struct heap_batch_at { /* where a reader is; { 0 } = before the first */
	size_t at;
	uint32_t last;
};

/* heap/batch.c */
void heap_put(struct heap_batch *b, const struct heap_event *e);
bool heap_next(const struct heap_batch *b, struct heap_batch_at *at, struct heap_event *e);
void heap_batch_empty(struct heap_batch *b, size_t kept); /* of its room so many bytes at most */
void heap_batch_release(struct heap_batch *b);
/* Empties it. -1 and *err: the columns have taken what came before. */
int columns_take(struct columns *c, struct heap_batch *b, struct err *err);
/* Counters as of the last tick, until the next event. What is made of the columns is made then. */
void columns_rest(struct columns *c);

#endif
