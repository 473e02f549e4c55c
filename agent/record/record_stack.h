/* SPDX-License-Identifier: MIT
 *
 * record_stack.h - an allocation from another stack than the expected one, on its thread.
 */
#ifndef MT_RECORD_RECORD_STACK_H
#define MT_RECORD_RECORD_STACK_H

#include "base/types.h"

#pragma GCC visibility push(hidden)
/* The guard is set. Finds the stack, books the block, and returns p. The caller's pc, sp and fp as
 * in struct regs. */
void *mt_record_alloc_stack(struct thread *t, void *p, size_t bytes, uintptr_t pc, uintptr_t sp,
			    uintptr_t fp);
#pragma GCC visibility pop

#endif
