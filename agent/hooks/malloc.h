/* SPDX-License-Identifier: MIT
 *
 * malloc.h - the malloc family without counting.
 */
#ifndef MT_HOOKS_MALLOC_H
#define MT_HOOKS_MALLOC_H

#include "hooks/init.h"

#include <stddef.h>

/* The process's own, whichever definition the loader finds first; Android's headers leave it out
 * below API level 28. */
extern void *aligned_alloc(size_t align, size_t n);

#pragma GCC visibility push(hidden)

/* Serves the call when mt_gate_enter() returns NULL. */
void *mt_hooks_plain_malloc(size_t n);
void *mt_hooks_plain_aligned(size_t align, size_t n);
void mt_hooks_plain_free(void *p);

#pragma GCC visibility pop

#endif
