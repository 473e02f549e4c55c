/* SPDX-License-Identifier: MIT
 *
 * quality.h - what the agent costs, and how good its stacks are: for the header, the page and
 * reports. Main thread only.
 *
 * Shares are in percent, NAN where nothing is known. Time in the program's calls is estimated from
 * samples and is always shown with a ~; all else is measured.
 */
#ifndef QUALITY_H
#define QUALITY_H

#include "model.h"

struct quality {
	uint64_t cut_blocks; /* whose stack ends early */
	uint64_t pointer_blocks; /* of whose stack frame pointers found a part: no table covers the code there */
	double whole;	     /* of all blocks: their stack is whole */
	double by_pointer;   /* ... of all blocks: frame pointers found a part of it */
	double remembered;   /* of all allocations: the thread's remembered stack was right */
	double frames;	     /* walked, for each that was not; a number, no share */
	double pc_hits,
		edge_hits;    /* of frames walked: unwind rule, step in the call tree at hand */
	double hooks, server; /* of one core since the start; hooks: estimated */
	double of_program;    /* both, of the cpu time that the program would have taken */
};

void quality_of(const struct model *m, struct quality *q);

/* Stacks that end early for one reason, their last known frame in one module. */
struct cut {
	uint32_t reason,
		module;	 /* enum mtw_truncation; NO_ID = generated code, or no frame at all */
	uint64_t blocks; /* that they allocated */
	uint64_t stacks; /* for the caller to count; 0 */
};

/* Most blocks first. The list is the caller's to free. */
size_t quality_cuts(const struct model *m, struct cut **list);

#define QUALITY_TEXT 32
/* "99.9" never rounded up, "100" only when nothing is missing, "-" when nothing is known. */
const char *quality_share(char buf[QUALITY_TEXT], double percent);

#endif
