/* SPDX-License-Identifier: MIT
 *
 * peak.h - the counters at the heap's peak, by slot, as the agent kept them: in varints, a third of
 * the memory of the numbers. Whose they are: the columns'.
 *
 * The agent sends what differs from the last peak that it sent whole. The parts of one wait until
 * the last has come, so that the peak which is known stays whole.
 */
#ifndef HEAP_PEAK_H
#define HEAP_PEAK_H

#include "model/paths/types.h"

struct peak_cell {
	uint32_t slot; /* by arrival */
	struct tally then;
};

struct peak_bytes { /* { +slot, the four counters } in varints, by slot */
	uint8_t *bytes;
	size_t len, room;
	uint32_t last;
};

struct peak {
	bool whole;
	struct tally sum;
	struct peak_bytes cells;
	/* of the next one, until its last part */
	struct peak_cell *coming;
	size_t coming_count, coming_room;
};

struct peak_at { /* where a reader is; { 0 } = before the first */
	size_t at;
	uint32_t slot;
};

void peak_begin(struct peak *x);
void peak_put(struct peak *x, uint32_t slot, const struct tally *then);
/* The parts are here, and add up to `sum`. -1: they do not; *shrunk: NO_ID, or a slot whose
 * counters were larger at the peak before. */
int peak_end(struct peak *x, const struct tally *sum, uint32_t *shrunk);
bool peak_next(const struct peak *x, struct peak_at *at, struct peak_cell *cell);
bool peak_adds_up(const struct peak *x); /* its counters are its totals */
void peak_release(struct peak *x);

#endif
