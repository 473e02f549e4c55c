/* SPDX-License-Identifier: MIT
 *
 * pages.h - takes the pages of unwind tables out of the process again.
 */
#ifndef MT_CFI_PAGES_H
#define MT_CFI_PAGES_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* Server thread, while no object is unloaded. Returns the number of pages. */
size_t mt_cfi_give_back(struct module *m);

#pragma GCC visibility pop

#endif
