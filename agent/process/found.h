/* SPDX-License-Identifier: MIT
 *
 * found.h - makes sure that the functions behind the hooks are known, whichever hook runs first.
 */
#ifndef MT_PROCESS_FOUND_H
#define MT_PROCESS_FOUND_H

#include "base/compiler.h"
#include "base/types.h"
#include "hooks/init.h"
#include "hooks/process_reals.h"

#pragma GCC visibility push(hidden)

MT_COLD void mt_hooks_find(void);

MT_INLINE void hooks_found(void)
{
	if (unlikely(!atomic_load_explicit(&mt_process.xfound, memory_order_acquire)))
		mt_hooks_find();
}

#pragma GCC visibility pop

#endif
