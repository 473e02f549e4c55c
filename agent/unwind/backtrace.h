/* SPDX-License-Identifier: MIT
 *
 * backtrace.h - the walk of unwind/cfi_engine.h by the rules that captures keep with the locations.
 */
#ifndef MT_UNWIND_BACKTRACE_H
#define MT_UNWIND_BACKTRACE_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

int mt_unwind_cfi_backtrace(struct thread *t, const struct regs *r, uintptr_t *out, int max,
			    unsigned *reason);

#pragma GCC visibility pop

#endif
