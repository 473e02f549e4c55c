/* SPDX-License-Identifier: MIT
 *
 * cfi_engine.h - the engine "cfi": unwind tables of .eh_frame. See unwind/engine.h.
 */
#ifndef MT_UNWIND_CFI_ENGINE_H
#define MT_UNWIND_CFI_ENGINE_H

#include "base/stack_bounds.h"
#include "base/types.h"
#include "cfi/cfi.h"

#pragma GCC visibility push(hidden)

uint64_t mt_unwind_cfi_rule(const struct module *m, uintptr_t pc);
int mt_unwind_cfi_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		       unsigned *reason);
/* ... with another step in the place of mt_cfi_step() */
typedef bool (*next_frame)(struct known *known, struct cfi_regs *r, unsigned *reason);
int mt_unwind_cfi_list(const struct regs *r, uintptr_t *out, int max, unsigned *reason,
		       next_frame next);

#pragma GCC visibility pop

#endif
