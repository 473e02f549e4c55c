/* SPDX-License-Identifier: MIT
 *
 * jemalloc.h - jemalloc's own functions, where it is the allocator.
 */
#ifndef MT_HOOKS_JEMALLOC_H
#define MT_HOOKS_JEMALLOC_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

#define JEMALLOC_HOOKS 5

struct rebind;

/* Once, from init. Returns the number of hooks in list, which has room for JEMALLOC_HOOKS. */
size_t mt_hooks_jemalloc_init(struct rebind *list);

#pragma GCC visibility pop

#endif
