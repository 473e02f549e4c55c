/* SPDX-License-Identifier: MIT
 *
 * outermost.h - where a stack ends: the code in which programs, threads and coroutines begin.
 */
#ifndef MT_CFI_OUTERMOST_H
#define MT_CFI_OUTERMOST_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

void mt_cfi_init(void);

/* Does a coroutine's first function return here? pc: a lookup address. */
bool mt_cfi_is_coroutine_end(uintptr_t pc, bool exact);
/* Is this code without a table where a program, a thread or the loader itself begins? pc: a lookup
 * address. */
bool mt_cfi_is_start(const struct module *m, uintptr_t pc, bool exact);

#pragma GCC visibility pop

#endif
