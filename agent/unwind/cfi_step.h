/* SPDX-License-Identifier: MIT
 *
 * cfi_step.h - unwind rows as packed rules (unwind/rule.h), and the full step with all registers.
 */
#ifndef MT_UNWIND_CFI_STEP_H
#define MT_UNWIND_CFI_STEP_H

#include "base/stack_bounds.h"
#include "base/types.h"
#include "cfi/cfi.h"

#pragma GCC visibility push(hidden)

/* The packed rule for a lookup address; never 0. */
uint64_t mt_cfi_rule(const struct module *m, uintptr_t pc, bool exact);

/* Replaces `r` by its caller's. false: *reason has the cause, or NONE at the end of the stack. */
bool mt_cfi_step(struct known *known, struct cfi_regs *r, unsigned *reason);

/* ... where no table says how, which *reason must have said; see unwind/call_stack.h. */
bool mt_cfi_step_without(struct known *known, struct cfi_regs *r, unsigned *reason);

/* Is this the code that a signal handler returns to? */
bool mt_cfi_is_sigreturn(uintptr_t pc);
/* AArch64: sets `r` to the interrupted registers; the signal's ucontext lies at `context`. */
bool mt_cfi_leave_signal(struct known *known, uintptr_t context, struct cfi_regs *r);

#pragma GCC visibility pop

#endif
