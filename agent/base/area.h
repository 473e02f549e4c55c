/* SPDX-License-Identifier: MIT
 *
 * area.h - where the agent's mappings lie: apart from the program's. Any thread, no locks; of the
 * system calls only mmap, munmap and madvise. The functions that map memory are in
 * base/prim_linux.h.
 */
#ifndef MT_BASE_AREA_H
#define MT_BASE_AREA_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* A mapping of any kind. `bytes` is rounded up to pages, `align` is a power of two, `flags` are
 * without MAP_FIXED. NULL = refused. mt_prim_unmap() takes all of it back. */
void *mt_area_map(size_t bytes, size_t align, int prot, int flags, int fd);
/* Addresses of the area that nobody was given before; 0 = none are left, or there is no area. */
uintptr_t mt_area_place(size_t bytes);
/* The end of AREA_COMES_AND_GOES bytes of addresses, for mappings that are unmapped again; 0 =
 * there is no area. */
#define AREA_COMES_AND_GOES ((uintptr_t)16 << 30)
uintptr_t mt_area_top(void);

#pragma GCC visibility pop

#endif
