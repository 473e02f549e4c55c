/* SPDX-License-Identifier: MIT
 *
 * libunwind.h - the engine "libunwind", where that is installed. See unwind/engine.h.
 */
#ifndef MT_UNWIND_LIBUNWIND_H
#define MT_UNWIND_LIBUNWIND_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

bool mt_unwind_libunwind_init(void); /* false: it is not there */
int mt_unwind_libunwind_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
			     unsigned *reason);

#pragma GCC visibility pop

#endif
