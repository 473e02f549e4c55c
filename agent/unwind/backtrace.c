/* SPDX-License-Identifier: MIT
 *
 * backtrace.c - a list of pcs by unwind tables, for programs that ask for their own stack.
 *
 * It takes the packed rules that captures keep with the code locations, instead of reading tables:
 * a frame costs some 45 ns instead of 300. Interning a location is all that it changes, so signal
 * handlers may call it.
 */
#include "unwind/backtrace.h"
#include "base/compiler.h"
#include "base/stack_bounds.h"
#include "cfi/cfi.h"
#include "unwind/cache.h"
#include "unwind/cfi_engine.h"
#include "unwind/cfi_step.h"
#include "unwind/rule.h"

#include <memtop/wire.h>

#if !defined(__arm__)
#define WORD sizeof(uintptr_t)

/* By a packed rule. False: it is not of that kind, or needs what is not known. */
static bool step_packed(struct known *known, struct cfi_regs *r, uint64_t rule)
{
	uintptr_t sp = r->value[CFI_SP], bp = r->value[CFI_BP];
	uintptr_t cfa = (uintptr_t)rule_cfa(rule) + (rule & RULE_BP ? bp : sp);
	uintptr_t slot = cfa + (uintptr_t)rule_bp(rule), ra = BY_RECORDS ? slot + WORD : cfa - WORD;

	if (rule & (RULE_KIND | RULE_WORD) || (BY_RECORDS && !(rule & RULE_SAVED)) ||
	    (rule_uses_bp(rule) && !(r->known & 1u << CFI_BP)) || cfa <= sp || cfa & (WORD - 1) ||
	    !unwind_readable(known, ra))
		return false;
	if (rule & RULE_SAVED) {
		if (slot & (WORD - 1) || !unwind_readable(known, slot))
			return false;
		r->value[CFI_BP] = *(const uintptr_t *)slot;
		r->known |= 1u << CFI_BP;
	}
	r->value[CFI_RA] = pc_code(*(const uintptr_t *)ra) & ~PC_EXACT;
	r->value[CFI_SP] = cfa;
	r->known &= 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_BP;
	r->link = 0;
	return true;
}

static bool step_known(struct known *known, struct cfi_regs *r, unsigned *reason)
{
	uint64_t rule = mt_unwind_rule == mt_unwind_cfi_rule
				? mt_unwind_shared_rule(r->value[CFI_RA])
				: rule_pack(RULE_SLOW, 0, 0);

	*reason = MTW_TRUNC_NONE;
	if (likely(step_packed(known, r, rule)))
		return r->value[CFI_RA] != 0;
	if (rule_reason(rule) == MTW_TRUNC_NO_CFI) {
		*reason = rule_reason(rule);
		return mt_cfi_step_without(known, r, reason);
	}
	return (rule & RULE_KIND) != RULE_END && mt_cfi_step(known, r, reason);
}

int mt_unwind_cfi_backtrace(struct thread *t, const struct regs *r, uintptr_t *out, int max,
			    unsigned *reason)
{
	int n = mt_unwind_cfi_list(r, out, max, reason, step_known);

	/* a frame may need a register that packed rules do not keep */
	return *reason == MTW_TRUNC_BAD_CFI ? mt_unwind_cfi_walk(t, r, out, max, reason) : n;
}
#endif
