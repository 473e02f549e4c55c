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
	bool cut;           /* no memory for them: what is missing is not known */
	int32_t entry[][2]; /* pc, FDE: both relative to base; by pc */
};

/*
 * `frames`: where its .eh_frame begins; 0 = it has to be found. Made at the first question, without
 * a system call but for memory; then kept for as long as the process runs. Never NULL.
 */
const struct cfi_index *mt_cfi_index(const struct module *m, uintptr_t frames);

#pragma GCC visibility pop

#endif
