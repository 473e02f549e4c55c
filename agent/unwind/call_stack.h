/* SPDX-License-Identifier: MIT
 *
 * call_stack.h - the functions that a thread of an instrumented program is inside:
 * hooks/instrument.c keeps them, unwind/call_stack.c leaves frames by them that no table describes.
 */
#ifndef MT_UNWIND_CALL_STACK_H
#define MT_UNWIND_CALL_STACK_H

#include "base/stack_bounds.h"
#include "base/types.h"
#include "unwind/fp_evidence.h"

struct entry {
	uintptr_t sp;   /* in the function's body, as the enter hook got it */
	uintptr_t site; /* where the function returns to; 0 = the entry is not whole yet */
	uintptr_t fn;
	uintptr_t body; /* return address of the enter hook */
	uintptr_t fp;   /* frame pointer register in the body */
};

struct call_stack {
	struct entry *top; /* the next one's place */
	struct entry *end;
	uint64_t over; /* functions entered beyond the end */
	size_t bytes;  /* of this mapping */
	/* outermost first, so sp never grows; the first is a sentinel, with an sp above all */
	struct entry entry[];
};

#define CALL_STACK_FIRST_BYTES ((size_t)16 << 10)

#pragma GCC visibility push(hidden)

extern bool mt_call_stack_on; /* functions are noted: the enter hook tests this first */

/* Leaves a frame of the calling thread that its table, if it has one, cannot leave; for its caller
 * *to, whose bp is 0 when it is unknown. False: no entry says where it returns to. Changes nothing:
 * signal handlers may call it. */
bool mt_call_stack_leave(struct known *known, uintptr_t pc, uintptr_t sp, struct caller *to);
void mt_call_stack_end(struct thread *t); /* the next thread with this state begins with none */

#pragma GCC visibility pop

#endif
