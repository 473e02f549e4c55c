/* SPDX-License-Identifier: MIT
 *
 * caller.h - the registers of a hook's caller, and the end of a hook that has a block to count. A
 * file with hooks includes it first.
 */
#ifndef MT_HOOKS_CALLER_H
#define MT_HOOKS_CALLER_H

#include <stdint.h>

/* pc, sp and fp of the hook's caller, as its unwind rules need them. Where the compiler leaves rbp
 * alone on request (gcc's -ffixed-rbp), it still is the caller's; else a frame pointer finds it. */
#define CALLER_PC ((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)))
#define CALLER_SP ((uintptr_t)__builtin_dwarf_cfa())
#if defined(MT_FIXED_RBP)
register uintptr_t mt_rbp __asm__("rbp");
#define CALLER_FP mt_rbp
#else
#define CALLER_FP (*(const uintptr_t *)__builtin_frame_address(0))
#endif

#include "base/types.h"
#include "record/record.h"
#include "record/record_fast.h"

#define CALLER (&(struct regs){ .pc = CALLER_PC, .sp = CALLER_SP, .fp = CALLER_FP })

/* The end of a hook that has a block to count; FAST: for the hooks that make most blocks. */
#define RECORD(t, p, n) mt_record_alloc(t, p, n, CALLER_PC, CALLER_SP, CALLER_FP)
#define RECORD_FAST(t, p, n) record_alloc(t, p, n, CALLER_PC, CALLER_SP, CALLER_FP)

/* A hook that enters the real function by a jump, also in debug builds; clang can be told for whole
 * files only, or (JUMP_RETURN) for a call of a function that has the hook's own type. */
#ifdef __clang__
#define JUMPS
#define JUMP_RETURN __attribute__((musttail)) return
#else
#define JUMPS __attribute__((optimize("O2", "optimize-sibling-calls")))
#define JUMP_RETURN return
#endif

#endif
