/* SPDX-License-Identifier: MIT
 *
 * prim_linux.h - the only system calls. All return >= 0 or -errno and leave errno alone.
 * Any thread, and the server.
 */
#ifndef MT_BASE_PRIM_LINUX_H
#define MT_BASE_PRIM_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Memory, apart from the program's (base/area.c): zeroed, NOHUGEPAGE, DONTDUMP; NULL on failure. */
void *mt_prim_map(size_t bytes, bool reserve_only);
/* likewise, but in pages of PRIM_LARGE bytes, where the kernel has some; a multiple of that */
#define PRIM_LARGE ((size_t)2 << 20)
void *mt_prim_map_large(size_t bytes);
/* likewise, reserve_only, at a place of the area; NULL also where something is there */
void *mt_prim_map_at(uintptr_t place, size_t bytes);
void *mt_prim_map_nothing(size_t bytes);   /* addresses without access; NULL on failure */
void mt_prim_unmap(void *p, size_t bytes); /* all of what one of the first three mapped */
void mt_prim_drop(void *p, size_t bytes);  /* give the pages back, keep the range, zeroed */
uint64_t mt_prim_now_ns(void);             /* CLOCK_MONOTONIC */
uint64_t mt_prim_coarse_ns(void);          /* CLOCK_MONOTONIC_COARSE */
uint64_t mt_prim_unix_ns(void);
int mt_prim_getpid(void); /* real system call, never cached */
int mt_prim_gettid(void);
void mt_prim_sleep(uint64_t ns); /* or less, when a signal comes */
long mt_prim_call(long nr, long a, long b, long c, long d, long e, long f);
int mt_prim_result(long rc); /* of a call, as the C library returns it: with errno */
/* A system call that a distribution's seccomp filter may not list. Returns -ENOSYS without the call
 * where such a filter may be active. */
long mt_prim_call_seldom(long nr, long a, long b, long c);
long mt_prim_read_at(long fd, void *to, size_t bytes, uint64_t at); /* pread */
size_t mt_prim_page_bytes(void);
enum { PAGE_THERE = 1, PAGE_ALONE = 2, PAGE_OF_FILE = 4 };
/* Tells, for each page from `start` on, whether it is present (in memory or swapped out), mapped by
 * this process alone, and a file's own (no private copy of it). A page that was only read is the
 * kernel's page of zeros: present, but not alone. Opens a file. */
enum touched { TOUCHED_UNKNOWN, TOUCHED_IN_MEMORY /* swapped ones are not told */, TOUCHED_ALL };
enum touched mt_prim_touched(uintptr_t start, size_t pages, unsigned char *touched);
/* makes each thread of the process pass a memory barrier; false: not supported */
bool mt_prim_barrier(void);
bool mt_prim_readable(uintptr_t addr, size_t bytes); /* would a load fault? (never faults itself) */

#pragma GCC visibility pop

#endif
