/* SPDX-License-Identifier: MIT
 *
 * packed.h - Android's packed relocation tables (DT_ANDROID_RELA, DT_ANDROID_REL).
 */
#ifndef MT_MODULES_PACKED_H
#define MT_MODULES_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* r_offset, r_info and r_addend of one relocation, as in an unpacked table. False ends the walk. */
typedef bool (*packed_visit)(void *arg, uintptr_t offset, uintptr_t info, intptr_t addend);

/* Calls visit for each relocation of the table of `bytes` at `table`. False: it is malformed; the
 * relocations before that were visited. Any thread, takes no lock, allocates nothing. */
bool mt_packed_each(const void *table, size_t bytes, packed_visit visit, void *arg);

#pragma GCC visibility pop

#endif
