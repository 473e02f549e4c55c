/* SPDX-License-Identifier: MIT
 *
 * quality.h - the agent's cost and the quality of its stacks: for the header, the page and reports.
 * Main thread only.
 *
 * Shares are in percent, NAN where unknown. Time in the program's calls is estimated from samples
 * and always shown with a ~; all other figures are measured.
 */
#ifndef MODEL_QUALITY_H
#define MODEL_QUALITY_H

#include "model/model.h"

/* in a shorter run the start-up dominates the cost: no share is meaningful */
#define QUALITY_COST_NS 100000000ull
/* A program counts as idle when its cpu time is below this part of the time. */
#define QUALITY_BUSY 0.1
#define CUT_GENERATED (NO_ID - 1)

/*
 * The agent's cpu time, in percent of what program and agent take together: never above 100. The
 * program's own cpu time has the calls in it. NAN: too short a run, or the program is idle, so that
 * the server's ticks would be all that is seen.
 */
struct cost {
	double calls; /* in the program's calls: estimated */
	double server, both;
	double error; /* of calls and both: so far from the truth, at most; 0 = not known */
};

struct quality {
	uint64_t cut_blocks; /* blocks whose stack ends early */
	/* blocks with stack frames found by frame pointers: no unwind table covers the code
	 * there */
	uint64_t pointer_blocks;
	double whole;      /* of all blocks: with a whole stack */
	double by_pointer; /* ... of all blocks: frame pointers found a part of it */
	double remembered; /* of all allocations: the thread's remembered stack was right */
	double frames;     /* frames walked per other allocation; a number, no share */
	double pc_hits,
		edge_hits; /* of frames walked: unwind rule and call tree step were cached */
	struct cost cost;  /* since the start */
	/* Calls and server in percent of one core, also of an idle program. NAN: too short a run */
	double of_a_core;
};

void quality_of(const struct model *m, struct quality *q);
struct cost quality_cost_of(uint64_t calls_ns, uint64_t error_ns, uint64_t server_ns,
			    uint64_t program_ns);

/* is the program busy enough to compare the cost with its own cpu time? */
bool quality_busy(uint64_t cpu_ns, uint64_t time_ns);

/* Stacks cut for one reason, with their last known frame in one module. */
struct cut {
	uint32_t reason, module; /* enum mtw_truncation; CUT_GENERATED; NO_ID = no frame at all */
	uint64_t blocks;         /* that they allocated */
	uint64_t stacks;         /* 0; the caller counts them */
};

uint32_t quality_module(const struct location *at); /* as in struct cut */
/* of a struct cut; NULL: no frame */
const char *quality_module_name(const struct model *m, uint32_t module);

/* Most blocks first. The list is the caller's to free. */
size_t quality_cuts(const struct model *m, struct cut **list);

#define QUALITY_TEXT 32
/* "12.3", or "12.3 +- 2.5", without a unit. The cost is known. */
const char *quality_within(char buf[QUALITY_TEXT], const struct cost *c);
/* "99.9" never rounded up, "100" only when nothing is missing, "-" when nothing is known. */
const char *quality_share(char buf[QUALITY_TEXT], double percent);

#endif
