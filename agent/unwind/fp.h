/* SPDX-License-Identifier: MIT
 *
 * fp.h - the engine "fp": frame pointers. See unwind/engine.h.
 */
#ifndef MT_UNWIND_FP_H
#define MT_UNWIND_FP_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

uint64_t mt_unwind_fp_rule(const struct module *m, uintptr_t pc);
int mt_unwind_fp_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		      unsigned *reason);

#pragma GCC visibility pop

#endif
