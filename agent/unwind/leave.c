/* SPDX-License-Identifier: MIT
 *
 * leave.c - the ways from a frame to its caller that are not common: an over-aligned frame, a bp
 * saved at an odd place, a signal's frame, a rule that needs other registers, a frame pointer that
 * must be proved, the functions that were entered; and the end of a stack.
 */
#include "unwind/leave.h"
#include "cfi/cfi.h"
#include "unwind/call_stack.h"
#include "unwind/cfi_step.h"
#include "unwind/ehabi.h"
#include "unwind/fp_evidence.h"
#include "unwind/rule.h"

#include <memtop/wire.h>

/* Whatever the common way does not cover: an over-aligned frame, a bp saved at an odd place. */
static MT_COLD enum left leave_odd(struct unwind_cache *u, struct step *f, uint64_t rule,
				   struct frame_state *to)
{
	uintptr_t cfa, at;

	if ((rule & RULE_BASE) == RULE_SP) {
		cfa = f->sp + (uintptr_t)rule_cfa(rule);
	} else if ((rule & RULE_BASE) == RULE_BP) {
		cfa = f->bp + (uintptr_t)rule_cfa(rule);
	} else {
		f->word = f->bp + (uintptr_t)rule_cfa(rule);
		if (!is_word(u, f->word))
			return LEFT_BROKEN;
		cfa = word_at(f->word);
	}
	if (rule & RULE_RECORD && f->bp < f->sp)
		return f->bp ? LEFT_BROKEN : LEFT_LAST;
	if (cfa <= f->sp)
		return LEFT_BROKEN;
	to->bp = f->bp;
	if (rule & RULE_SAVED) {
		at = (uintptr_t)rule_bp(rule) + ((rule & RULE_BASE) == RULE_WORD ? f->bp : cfa);
		if (!is_word(u, at))
			return LEFT_BROKEN;
		f->bp_at = at;
		to->bp = word_at(at);
	}
	if (!is_word(u, return_at(f, cfa)))
		return LEFT_BROKEN;
	to->pc = pc_bare(word_at(return_at(f, cfa)));
	to->sp = cfa;
	return LEFT_ON;
}

static MT_COLD enum left leave_signal(struct unwind_cache *u, struct step *f,
				      struct frame_state *to)
{
	uintptr_t context = f->sp;

	if ((context & (WORD - 1)) || !unwind_readable(&u->known, context + UC_BP) ||
	    !unwind_readable(&u->known, context + UC_PC))
		return LEFT_BROKEN;
	f->bp_at = context + UC_BP;
	to->bp = word_at(context + UC_BP);
	to->sp = word_at(context + UC_SP);
	to->pc = word_at(context + UC_PC) | PC_EXACT;
	return mt_unwind_enter(&u->known, to->sp, false) ? LEFT_ON : LEFT_BROKEN;
}

#if defined(__arm__)
static MT_COLD enum left leave_slow(struct walk *w, struct step *f, struct frame_state *to)
{
	uintptr_t pc = f->pc, sp = f->sp;

	if (!mt_unwind_ehabi_leave(&w->u->known, w->r, w->u->depth, &pc, &sp, &w->base))
		return LEFT_BROKEN;
	*to = (struct frame_state){ pc, sp, 0 };
	return LEFT_ON;
}

static bool begins(const struct step *f, uint64_t rule)
{
	return rule & RULE_FIRST && mt_unwind_begins(f->sp);
}
#else
static bool begins(const struct step *f, uint64_t rule)
{
	(void)f, (void)rule;
	return false;
}

/* With all registers, from the innermost frame on: the only way to know the others. */
static MT_COLD enum left leave_slow(struct walk *w, struct step *f, struct frame_state *to)
{
	struct known *known = &w->u->known;
	struct cfi_regs regs = { .known = 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_BP };
	size_t entered = known->entered;

	known->entered = 0; /* it comes through the frames again */
	regs.value[CFI_RA] = w->r->pc;
	regs.value[CFI_SP] = w->r->sp;
	regs.value[CFI_BP] = w->r->fp;
	if (!mt_unwind_enter(known, w->r->sp, true))
		return LEFT_BROKEN;
	for (uint32_t i = 0; regs.value[CFI_SP] != f->sp || regs.value[CFI_RA] != pc_code(f->pc);
	     i++) {
		if (i >= w->u->depth || !mt_cfi_step(known, &regs, &w->base)) {
			known->entered = entered;
			return LEFT_BROKEN;
		}
	}
	if (!mt_cfi_step(known, &regs, &w->base)) {
		if (w->base != MTW_TRUNC_NONE)
			return LEFT_BROKEN;
		regs.value[CFI_RA] = 0; /* ends here; the caller looks at pc */
	}
	to->pc = regs.value[CFI_RA];
	to->sp = regs.value[CFI_SP];
	to->bp = regs.known & 1u << CFI_BP ? regs.value[CFI_BP] : 0;
	return LEFT_ON;
}

#endif

/* Steps by a proved frame pointer. The obstacle to a proof may vanish while all compared words stay
 * the same, so a frame that ends the stack never matches. */
static MT_COLD enum left leave_proven(struct walk *w, struct step *f, uint64_t rule,
				      struct frame_state *to)
{
	struct known *known = &w->u->known;
	struct caller caller;

	if (!known->sites)
		mt_unwind_evidence_remember(known);
	if (!mt_unwind_evidence_leave(known, f->pc, f->sp, f->bp, &caller)) {
		w->base = rule_reason(rule);
		f->call.shape |= FRAME_SLOW;
		return LEFT_LAST;
	}
	f->bp_at = f->bp;
	*to = (struct frame_state){ caller.pc, caller.sp, caller.bp };
	return LEFT_ON;
}

static enum left leave_by(struct walk *w, struct step *f, uint64_t rule, struct frame_state *to)
{
	switch (rule & RULE_KIND) {
	case RULE_FAST: return leave_odd(w->u, f, rule, to);
	case RULE_SIGNAL:
		w->listed = BY_RECORDS;
		return w->listed ? LEFT_LAST : leave_signal(w->u, f, to);
	case RULE_SLOW: return leave_slow(w, f, to);
	case RULE_PROVE: return leave_proven(w, f, rule, to);
	case RULE_NONE: w->base = begins(f, rule) ? MTW_TRUNC_NONE : rule_reason(rule);
	}
	return LEFT_LAST;
}

/* Why a rule led to nowhere: off the end of a stack that is not the thread's own, or false. */
static MT_COLD unsigned broken_reason(const struct walk *w, const struct step *f)
{
	const struct bounds *b = &w->u->known.at[0];
	bool foreign = !b->native && f->sp >= b->lo && f->sp <= b->hi && b->hi - f->sp < 256;

	return foreign ? MTW_TRUNC_SWITCHED : MTW_TRUNC_BAD_CFI;
}

MT_COLD enum left mt_unwind_leave_rare(struct walk *w, struct step *f, uint64_t rule,
				       struct frame_state *to)
{
	enum left left = leave_by(w, f, rule, to);
	bool lost = left == LEFT_BROKEN || w->base == MTW_TRUNC_NO_CFI;

	if (unlikely(lost && mt_call_stack_on)) {
		struct caller caller;
		f->call.shape |= FRAME_SLOW;
		if (mt_call_stack_leave(&w->u->known, f->pc, f->sp, &caller)) {
			*to = (struct frame_state){ caller.pc, caller.sp, caller.bp };
			w->base = MTW_TRUNC_NONE;
			return LEFT_ON;
		}
	}
	if (left == LEFT_BROKEN) {
		w->base = broken_reason(w, f);
		f->call.shape |= FRAME_SLOW;
	}
	return left;
}

/* A return address of 0, or none that a program can have. */
MT_COLD enum left mt_unwind_leave_last(struct walk *w, const struct step *f, struct frame_state *at)
{
	if (!(f->call.shape & (FRAME_SIGNAL | FRAME_SLOW)))
		at->pc = pc_bare(at->pc);
	if (pc_code(at->pc))
		return LEFT_ON;
#if defined(__arm__) /* 1: a mark without an address */
	if (at->pc)
		w->base = MTW_TRUNC_BAD_CFI;
#endif
	w->zero_at = f->call.shape & (FRAME_SIGNAL | FRAME_SLOW) ? 0 : return_at(f, at->sp);
	return LEFT_LAST;
}
