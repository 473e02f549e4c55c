/* SPDX-License-Identifier: MIT
 *
 * unwind_proof.h - steps by frame pointer through code without an unwind table, where they prove themselves.
 */
#ifndef MT_UNWIND_PROOF_H
#define MT_UNWIND_PROOF_H

#include "unwind.h"

/* unwind_proof.c reads x86-64 code. On AArch64 a frame record does not say where its frame ends, which tables further out need. */
#if defined(__x86_64__)
#define PROOFS true
#else
#define PROOFS false
#endif

struct caller {
	uintptr_t pc, sp, bp;
};

/*
 * The frame at a return address `pc` that no table covers, with its sp and bp, is left for *to. false: nothing proves that bp
 * is its frame pointer. Reads no memory that is not known to be readable. known->sites: what was found out of each
 * pc is kept there; NULL: it is found out anew.
 */
bool mt_unwind_proof_leave(struct known *known, uintptr_t pc, uintptr_t sp, uintptr_t bp, struct caller *to);
void mt_unwind_proof_allow(bool on); /* on: cfi takes the stacks. Other engines' frames are none of ours to mark */
bool mt_unwind_proof_allowed(void);
void mt_unwind_proof_remember(struct known *known); /* from now on: known->sites is made */
void mt_unwind_proof_forget(struct known *known);   /* the maps have changed */
bool mt_unwind_proof_call(uintptr_t pc);   /* does a call instruction stand before pc? Never faults */

/*
 * Code outside modules may be replaced in place. What was concluded from it holds until this moves; mt_maps_suspicion
 * moves with it. The server moves it once a second, in programs where such code was read (unwind_proof_expire).
 */
#pragma GCC visibility push(hidden)
extern _Atomic uint32_t mt_unwind_proof_age;
#pragma GCC visibility pop
void mt_unwind_proof_expire(uint64_t now_ns); /* server, each tick */

#endif
