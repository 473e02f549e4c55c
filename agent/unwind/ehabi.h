/* SPDX-License-Identifier: MIT
 *
 * ehabi.h - the engine "ehabi": the unwind tables of 32-bit ARM. See unwind/engine.h.
 */
#ifndef MT_UNWIND_EHABI_H
#define MT_UNWIND_EHABI_H

#include "base/stack_bounds.h"
#include "base/types.h"

#pragma GCC visibility push(hidden)

uint64_t mt_unwind_ehabi_rule(const struct module *m, uintptr_t pc);
int mt_unwind_ehabi_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
			 unsigned *reason);

/* Replaces the frame at *pc, *sp by its caller's, where it is among the hook's caller's first
 * `depth`; *pc = 0: the stack ends. */
bool mt_unwind_ehabi_leave(struct known *known, const struct regs *r, uint32_t depth, uintptr_t *pc,
			   uintptr_t *sp, unsigned *reason);
bool mt_unwind_begins(uintptr_t sp); /* is a frame at sp the first of its thread? */

#pragma GCC visibility pop

#endif
