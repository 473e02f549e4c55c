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

struct heap_batch {
	struct heap_event *list;
	size_t count, room;
};

void heap_put(struct heap_batch *b, const struct heap_event *e);
/* Empties it. -1 and *err: the columns have taken what came before. */
int columns_take(struct columns *c, struct heap_batch *b, struct err *err);
void heap_batch_release(struct heap_batch *b);
/* Counters as of the last tick, until the next event. What is made of the columns is made then. */
void columns_rest(struct columns *c);

#endif
