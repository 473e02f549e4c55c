/* SPDX-License-Identifier: MIT
 *
 * peaks.h - the largest amount that some stacks of a session held together. Main thread only.
 */
#ifndef CHECK_PEAKS_H
#define CHECK_PEAKS_H

#include "launch/target.h"
#include "model/model.h"

struct part_peak {
	const bool *covered; /* by dense index of the session's last state: is the stack meant? */
	/* The answer: the largest sum that was recorded, and what no sum between two recorded
	 * instants can have exceeded: bytes <= the part's peak <= most. */
	uint64_t bytes, most;
};

/* Plays t's stream, a session file, from its start. All parts at once. -1 and *err (3). */
int peaks_find(const struct target *t, const struct model *last, struct part_peak *parts,
	       size_t count, struct err *err);

#endif
