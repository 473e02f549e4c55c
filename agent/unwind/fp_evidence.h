/* SPDX-License-Identifier: MIT
 *
 * fp_evidence.h - steps by frame pointer through code without an unwind table, where the code
 * itself proves that it keeps one.
 */
#ifndef MT_UNWIND_FP_EVIDENCE_H
#define MT_UNWIND_FP_EVIDENCE_H

#include "base/stack_bounds.h"
#include "base/types.h"

/*
 * x86-64 only: unwind/fp_evidence.c reads x86-64 code, and on AArch64 a frame record does not tell
 * where its frame ends, which tables further out need.
 */
#if defined(__x86_64__)
#define PROOFS true
#else
#define PROOFS false
#endif

struct caller {
	uintptr_t pc, sp, bp;
};

/* Steps from the frame at return address `pc`, which no table covers, with its sp and bp, to its
 * caller *to. false: no proof that bp is its frame pointer. Reads only memory known to be readable.
 * known->sites caches the result for each pc; NULL: no cache. */
bool mt_unwind_evidence_leave(struct known *known, uintptr_t pc, uintptr_t sp, uintptr_t bp,
			      struct caller *to);
/* on: cfi captures stacks; other engines' frames get no mark */
void mt_unwind_evidence_allow(bool on);
bool mt_unwind_evidence_allowed(void);
void mt_unwind_evidence_remember(struct known *known); /* from now on: known->sites is made */
void mt_unwind_evidence_forget(struct known *known);   /* the maps have changed */
bool mt_unwind_evidence_call(
	uintptr_t pc); /* does a call instruction stand before pc? Never faults */

/* Code outside modules may be replaced in place. Results from such code are used until this number
 * changes; mt_maps_suspicion changes with it. The server changes it once a second in programs where
 * such code was read (mt_unwind_evidence_expire). */
#pragma GCC visibility push(hidden)
extern _Atomic uint32_t mt_unwind_evidence_age;
#pragma GCC visibility pop
void mt_unwind_evidence_expire(uint64_t now_ns); /* server, each tick */

#endif
