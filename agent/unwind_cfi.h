/* SPDX-License-Identifier: MIT
 *
 * unwind_cfi.h - the kept stack of the cfi engine; unwind_cfi.c has the algorithm.
 */
#ifndef MT_UNWIND_CFI_H
#define MT_UNWIND_CFI_H

#include "agent.h"

/* One frame: where it is, how it was left, what it is called. One cache line. */
struct frame {
	uintptr_t pc;      /* with PC_EXACT */
	uintptr_t sp;      /* as this frame sees it when the call returns */
	uintptr_t bp;      /* true when bp_used; may be older otherwise */
	uintptr_t bp_slot; /* where this frame keeps its caller's bp; 0 = it left it alone */
	uintptr_t word;    /* where its CFA was read from; 0 = nowhere */
	node_id node;      /* of the stack from the outermost frame to here */
	code_id code;
	uint32_t pairs;    /* comparisons that hold for this frame and all further out */
	uint8_t leave;     /* enum frame_leave */
	bool uses_bp;      /* its rule computes from bp */
	bool bp_used;      /* its bp has an influence on a frame further out */
	bool own;          /* the agent's text: has no node of its own */
	uint64_t unused;
};

enum frame_leave {
	LEAVE_CALL = 0,  /* the return address lies under the caller's sp */
	LEAVE_SIGNAL,    /* pc and sp lie in a ucontext at this frame's sp */
	LEAVE_SLOW,      /* by other registers: never taken for granted */
	LEAVE_LAST,      /* the outermost one that is known */
};

#endif
