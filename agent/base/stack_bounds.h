/* SPDX-License-Identifier: MIT
 *
 * stack_bounds.h - pcs, and which parts of a thread's stack a walk may read.
 */
#ifndef MT_BASE_STACK_BOUNDS_H
#define MT_BASE_STACK_BOUNDS_H

#include "base/compiler.h"
#include "base/types.h"

/* This bit marks an exact pc (interrupted there), not a return address. */
#if defined(__x86_64__)
#define PC_EXACT ((uintptr_t)1 << 63)
#elif defined(__aarch64__)
/* the upper bits may be an authentication code's; instructions are aligned */
#define PC_EXACT ((uintptr_t)1)
#else
#define PC_EXACT ((uintptr_t)0)
#endif

/* x86-64 Linux: in the ucontext that lies at a signal frame's sp. */
#define UC_BP 120
#define UC_SP 160
#define UC_PC 168
/* AArch64 Linux: in a ucontext; x1 to x30, sp and the pc follow. */
#define UC_X0 184

MT_INLINE uintptr_t pc_bare(uintptr_t pc)
{
	return pc & ~PC_EXACT;
}
/* Strips the authentication code: return addresses may be signed (AArch64), and user addresses have
 * 48 bits. */
MT_INLINE uintptr_t pc_code(uintptr_t pc)
{
#if defined(__aarch64__)
	return pc & (((uintptr_t)1 << 48) - 1);
#elif defined(__arm__)
	return pc & ~(uintptr_t)1; /* the Thumb bit */
#else
	return pc;
#endif
}
/* The address to look up a rule for: inside the call instruction. */
MT_INLINE uintptr_t pc_lookup(uintptr_t pc)
{
	return pc & PC_EXACT ? pc_bare(pc) : pc - 1;
}

/* Memory that may be read without a probe: [lo, hi). */
struct bounds {
	uintptr_t lo, hi;
	bool native; /* the stack that the thread began on: stays as long as the thread */
};

#define KNOWN 4

struct site; /* unwind/fp_evidence.c */

/* The stacks met last, newest first. Bounds of a stack that is not native hold for one capture
 * only. */
struct known {
	struct bounds at[KNOWN];
	bool foreign; /* one of them is not native */
	bool spilled; /* one was pushed out */
	bool main;    /* this thread was seen on the main stack: it has no other native one */
	/* of the frame that a proven step of this walk has just reached; 0 = none */
	uintptr_t proven_sp;
	bool popped; /* ... and is further out by arguments that the callee takes off */
	/* of unwind/call_stack.h's entries so many are further out than this walk; 0 = it asked for
	 * none */
	size_t entered;
	/* cached proofs for code without tables, by return address; NULL until needed, or without a
	 * cache */
	struct site *sites;
};

/* its stack becomes the first */
bool mt_unwind_enter(struct known *known, uintptr_t sp, bool certain);
/* the word at addr, outside of the first */
bool mt_unwind_reach(struct known *known, uintptr_t addr);
/* call when a capture begins; false: some bounds are no longer valid */
bool mt_unwind_renew(struct known *known, uintptr_t sp);

MT_INLINE bool unwind_in(const struct bounds *b, uintptr_t addr)
{
	return addr >= b->lo && addr < b->hi && b->hi - addr >= sizeof(uintptr_t);
}

/* The same for an aligned address; bounds are aligned themselves. */
MT_INLINE bool unwind_word_in(const struct bounds *b, uintptr_t addr)
{
	return addr >= b->lo && addr < b->hi;
}

/* May the word at addr be read? Only a walk beyond the known bounds pays for the answer. */
MT_INLINE bool unwind_readable(struct known *known, uintptr_t addr)
{
	return likely(unwind_in(&known->at[0], addr)) || mt_unwind_reach(known, addr);
}

#endif
