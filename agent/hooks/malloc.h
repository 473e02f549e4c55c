/* SPDX-License-Identifier: MIT
 *
 * malloc.h - what the files of hooks share: the caller's registers, and service while nobody
 * counts.
 */
#ifndef MT_HOOKS_H
#define MT_HOOKS_H

#include <stddef.h>
#include <stdint.h>

/*
 * pc, sp and fp of the hook's caller, as its unwind rules want them. Where the compiler leaves rbp
 * alone on request (gcc's -ffixed-rbp), it still is the caller's; else a frame pointer finds it.
 */
#define CALLER_PC ((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)))
#define CALLER_SP ((uintptr_t)__builtin_dwarf_cfa())
#if defined(MT_FIXED_RBP)
register uintptr_t mt_rbp __asm__("rbp");
#define CALLER_FP mt_rbp
#else
#define CALLER_FP (*(const uintptr_t *)__builtin_frame_address(0))
#endif

#include "hooks/gate.h"
#include "record/record_fast.h"

#define CALLER (&(struct regs){ .pc = CALLER_PC, .sp = CALLER_SP, .fp = CALLER_FP })

/* The end of a hook that has a block to count; FAST in those that most blocks come from. */
#define RECORD(t, p, n) mt_record_alloc(t, p, n, CALLER_PC, CALLER_SP, CALLER_FP)
#define RECORD_FAST(t, p, n) record_alloc(t, p, n, CALLER_PC, CALLER_SP, CALLER_FP)

/* A hook that enters the real function by a jump, also in debug builds; clang can be told for whole
 * files only. */
#ifdef __clang__
#define JUMPS
#else
#define JUMPS __attribute__((optimize("O2", "optimize-sibling-calls")))
#endif

/* hooks/malloc.c: the one of all, whichever is found first; Android's headers leave it out below
 * API level 28. */
extern void *aligned_alloc(size_t align, size_t n);
/* ... the call, when mt_gate_enter() said that it is not to be counted. */
void *mt_hooks_plain_malloc(size_t n);
void *mt_hooks_plain_aligned(size_t align, size_t n);
void mt_hooks_plain_free(void *p);

/* hooks/cxx.c: which operator new is behind us; once, from init. */
void mt_hooks_cxx_init(void);
bool mt_hooks_cxx_foreign(void); /* ... it may place blocks closer than malloc does */
/* hooks/jemalloc.c: its own functions, where it is the allocator; once, from init. How many are in
 * list then. */
#define JEMALLOC_HOOKS 5
struct rebind;
size_t mt_hooks_jemalloc_init(struct rebind *list); /* room for JEMALLOC_HOOKS */

/* hooks/instrument.c: do the program's functions call the agent's hooks? */
bool mt_hooks_enter_is_ours(void);

/* hooks/process.c: the real process and loader functions; once, from init. */
void mt_hooks_proc_init(void);
void mt_hooks_proc_found(void); /* ... if that is still to come */
void mt_hooks_wait_init(void);
/* hooks/exec.c, hooks/spawn.c: likewise; hooks/process.c calls them. */
void mt_hooks_exec_init(void);
void mt_hooks_spawn_init(void);

#endif
