/* SPDX-License-Identifier: MIT
 *
 * index.h - the FDEs of a file without a search table.
 */
#ifndef MT_CFI_INDEX_H
#define MT_CFI_INDEX_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct cfi_index {
	uintptr_t base; /* .eh_frame */
	uint32_t count;
	bool cut;           /* no memory for the index: the table stays unknown */
	int32_t entry[][2]; /* pc, FDE: both relative to base; by pc */
};

/* `frames`: the start of its .eh_frame; 0 = search for it. Built on the first request, without a
 * system call except for memory; then kept until the process ends. Never NULL. */
const struct cfi_index *mt_cfi_index(const struct module *m, uintptr_t frames);

#pragma GCC visibility pop

#endif
