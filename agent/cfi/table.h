/* SPDX-License-Identifier: MIT
 *
 * table.h - finds the record of a module's .eh_frame that covers a pc, as cfi/cfi.c needs it. Any
 * thread, no lock.
 *
 * Tables are not trusted: a record is read within its loaded segment, whatever lengths it gives.
 */
#ifndef MT_CFI_TABLE_H
#define MT_CFI_TABLE_H

#include "base/types.h"
#include "cfi/records.h"

#pragma GCC visibility push(hidden)

/* MTW_TRUNC_NONE, or why the pc has no record. */
unsigned mt_cfi_find(const struct module *m, uintptr_t pc, struct fde *fde);
/* Where the module's search table and the records behind it lie; false: it has none. */
bool mt_cfi_extent(const struct module *m, uintptr_t *from, uintptr_t *to);

#pragma GCC visibility pop

#endif
