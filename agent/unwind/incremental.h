/* SPDX-License-Identifier: MIT
 *
 * incremental.h - the kept stack of a thread; unwind/incremental.c has the algorithm.
 */
#ifndef MT_UNWIND_INCREMENTAL_H
#define MT_UNWIND_INCREMENTAL_H

#include "base/types.h"
#include "unwind/cache.h"

/* The step from a frame to its caller, and its influence further out (call.shape). */
#define FRAME_USES_BP 1u /* its rule computes from bp */
#define FRAME_SAVED 2u   /* its caller's bp is in step_bp_at(); else it left bp unchanged */
#define FRAME_WORD 4u    /* its CFA was read from `word` */
#define FRAME_OWN 8u     /* the agent's code: has no node of its own */
#define FRAME_SIGNAL 16u /* pc and sp of its caller lie in a ucontext at its sp */
#define FRAME_SLOW 32u   /* needs other registers, or is broken: never matches */
/* its bp affects a frame further out, or its own step */
#define FRAME_BP_USED 64u
/* Its rule is not plain, so not in the call: mt_unwind_rule_of() has it. Plain is: CFA = sp or bp
 * + a, above that register; bp left alone, or saved in between, both at whole words. */
#define FRAME_BY_RULE 128u
#define FRAME_ODD 256u /* no frame's */

/* A frame as a walk found it. */
struct step {
	uintptr_t pc; /* with PC_EXACT */
	uintptr_t sp; /* its value in this frame when the call returns */
	uintptr_t bp; /* true when FRAME_BP_USED; may be older otherwise */
	struct call call;
	/* only a FRAME_BY_RULE has these: see unwind/leave.h's step_bp_at() */
	uintptr_t bp_at;
	uintptr_t word;
};
#define STEP_PLAIN offsetof(struct step, bp_at)

/* ... and as stored. One cache line. */
struct frame {
	struct step at;
	node_id node;   /* node of the stack from the outermost frame to here */
	uint32_t pairs; /* comparisons that hold for this frame and all further out */
	/* the capture that stored it; equal numbers mean that all frames further out are the same,
	 * too */
	uint64_t made;
};

#endif
