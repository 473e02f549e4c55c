/* SPDX-License-Identifier: MIT
 *
 * hooks.h - what the files of hooks share: the caller's registers, and service while nobody counts.
 */
#ifndef MT_HOOKS_H
#define MT_HOOKS_H

#include "agent.h"

/* The registers of the hook's caller, as its unwind rules want them. Needs a frame pointer. */
#define CALLER                                                                                     \
	(&(struct regs){                                                                           \
		.pc = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),       \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                            \
		.fp = *(const uintptr_t *)__builtin_frame_address(0),                              \
	})

/* hooks.c: the call, when mt_thread_enter() said that it is not to be counted. */
void *mt_hooks_plain_malloc(size_t n);
void *mt_hooks_plain_aligned(size_t align, size_t n);
void mt_hooks_plain_free(void *p);

/* hooks_cxx.c: which operator new is behind us; once, from init. */
void mt_hooks_cxx_init(void);
bool mt_hooks_cxx_foreign(void); /* ... it may place blocks closer than malloc does */
/* hooks_proc.c: the real process and loader functions; once, from init. */
void mt_hooks_proc_init(void);

#endif
