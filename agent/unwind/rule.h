/* SPDX-License-Identifier: MIT
 *
 * rule.h - the step from a frame at some pc to its caller, packed into 64 bits.
 *
 *     63..40 cfa offset (signed)   39..16 bp offset (signed)   15..0 flags
 *
 * RULE_FAST covers what compilers emit: CFA = sp + a, bp + a, or the word at bp + a; the return
 * address in the word under the CFA; bp left alone or saved at CFA + b (at bp + b when the CFA is
 * read from memory, as for over-aligned frames). Everything else is RULE_SLOW: the table is
 * interpreted each time, with all registers.
 *
 * AArch64 compilers put the return address above the saved frame pointer, and that pair anywhere in
 * the frame: RULE_FAST has bp saved at CFA + b and the return address in the word after it
 * (BY_RECORDS).
 */
#ifndef MT_UNWIND_RULE_H
#define MT_UNWIND_RULE_H

#include "base/compiler.h"
#include "base/types.h"

#define RULE_MADE 1u /* set in every rule: 0 means none */
#define RULE_KIND (7u << 1)
#define RULE_FAST (0u << 1)
#define RULE_SLOW (1u << 1)
#define RULE_SIGNAL (2u << 1) /* a signal handler's return: registers lie in a ucontext at sp */
#define RULE_END (3u << 1)    /* the outermost frame */
#define RULE_NONE (4u << 1)   /* no step; RULE_REASON has the cause */
/* no table: by the frame pointer, where code and record prove it (unwind/fp_evidence.c) */
#define RULE_PROVE (5u << 1)
#define RULE_BASE (3u << 4)
#define RULE_SP (0u << 4)
#define RULE_BP (1u << 4)
#define RULE_WORD (2u << 4)    /* CFA is read from bp + a */
#define RULE_SAVED (1u << 6)   /* bp is saved at b */
#define RULE_OWN (1u << 7)     /* the agent's own code: no node for it */
#define RULE_REASON_SHIFT 8    /* enum mtw_truncation, 4 bits */
#define RULE_RECORD (1u << 12) /* by a frame record: bp = 0 is the end */
/* RULE_NONE that is the stack's end if close under the thread's control block: mt_unwind_begins()
 */
#define RULE_FIRST (1u << 13)

#if defined(__aarch64__)
#define BY_RECORDS true
#else
#define BY_RECORDS false
#endif

#define RULE_OFFSET_MAX ((1 << 23) - 1)

MT_INLINE uint64_t rule_pack(uint32_t flags, int64_t cfa, int64_t bp)
{
	return (uint64_t)cfa << 40 | ((uint64_t)bp & 0xffffff) << 16 | flags | RULE_MADE;
}

MT_INLINE intptr_t rule_cfa(uint64_t rule)
{
	return (intptr_t)((int64_t)rule >> 40);
}
MT_INLINE intptr_t rule_bp(uint64_t rule)
{
	return (intptr_t)((int64_t)(rule << 24) >> 40);
}
MT_INLINE unsigned rule_reason(uint64_t rule)
{
	return (rule >> RULE_REASON_SHIFT) & 15;
}
MT_INLINE bool rule_uses_bp(uint64_t rule)
{
	return rule & (RULE_BP | RULE_WORD);
}

#endif
