/* SPDX-License-Identifier: MIT
 *
 * cfi_step.c - unwind rows as packed rules, and the full step with all registers.
 *
 * The full step follows the standard literally. It serves the frames that no packed rule describes,
 * and mt_unwind_frames(). At first only pc, sp and bp are known; a callee that saved a register
 * makes it known. A row that needs an unknown one ends the stack as truncated.
 */
#include "unwind/cfi_step.h"
#include "base/prim_linux.h"
#include "cfi/expr.h"
#include "cfi/outermost.h"
#include "modules/maps.h"
#include "unwind/call_stack.h"
#include "unwind/fp_evidence.h"
#include "unwind/rule.h"

#include <memtop/wire.h>
#include <string.h>

#define WORD sizeof(uint64_t)

#define UC_R8 40 /* as UC_BP */

#if defined(__aarch64__)
/* mov x8, #SYS_rt_sigreturn; svc #0 */
static const uint8_t sigreturn[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
#else
/* mov $SYS_rt_sigreturn, %rax; syscall */
static const uint8_t sigreturn[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };
#endif

/* breg `reg` <offset> and, when deref is asked for, a final deref; nothing else. */
static bool is_breg(const uint8_t *expr, const uint8_t *end, unsigned reg, bool deref,
		    int64_t *offset)
{
	struct cfi_cursor c = { expr, end, false };
	uint64_t len = cfi_uleb(&c);

	if (c.bad || len > (uint64_t)(end - c.at))
		return false;
	c.end = c.at + len;
	if (cfi_fixed(&c, 1) != 0x70 + reg)
		return false;
	*offset = cfi_sleb(&c);
	if (deref && cfi_fixed(&c, 1) != 0x06)
		return false;
	return !c.bad && c.at == c.end;
}

/*
 * The linker's expression for lazy PLT stubs: sp + 8, and 8 more once the stub has pushed its
 * index, from byte `from` of 16 on. It depends on the pc alone.
 */
static bool is_plt(const uint8_t *expr, const uint8_t *end, uintptr_t pc, int64_t *offset)
{
	const uint8_t *e = expr;

	if (end - e < 12 || e[0] != 11 || e[1] != 0x77 || e[2] >= 0x40 || e[3] != 0x80 ||
	    e[4] != 0 || e[5] != 0x3f || e[6] != 0x1a || e[7] < 0x30 || e[7] > 0x4f ||
	    e[8] != 0x2a || e[9] != 0x33 || e[10] != 0x24 || e[11] != 0x22)
		return false;
	*offset = e[2] + ((pc & 15) >= (uintptr_t)(e[7] - 0x30) ? 8 : 0);
	return true;
}

static const uint8_t *expression(int64_t value)
{
	return (const uint8_t *)(intptr_t)value;
}

/* Where the CFA comes from: flags and offset of the packed rule; false = not packable. */
static bool pack_cfa(const struct cfi_row *row, uintptr_t pc, uint32_t *flags, int64_t *offset)
{
	const struct cfi_state *s = &row->state;

	if (s->cfa_how == CFI_OFFSET) {
		*flags = s->cfa_reg == CFI_SP ? RULE_SP : RULE_BP;
		*offset = s->cfa_value;
		return s->cfa_reg == CFI_SP || s->cfa_reg == CFI_BP;
	}
	if (s->cfa_how != CFI_COMPUTED || BY_RECORDS)
		return false;
	*flags = RULE_WORD;
	if (is_breg(expression(s->cfa_value), row->end, CFI_BP, true, offset))
		return true;
	*flags = RULE_SP;
	return is_plt(expression(s->cfa_value), row->end, pc, offset);
}

static bool pack_bp(const struct cfi_row *row, uint32_t base, uint32_t *flags, int64_t *offset)
{
	const struct cfi_state *s = &row->state;

	*flags = 0;
	*offset = 0;
	switch (s->how[CFI_BP]) {
	case CFI_UNSET:
	case CFI_SAME: return true;
	case CFI_OFFSET:
		*flags = RULE_SAVED;
		*offset = s->value[CFI_BP];
		return base != RULE_WORD;
	case CFI_EXPRESSION:
		*flags = RULE_SAVED;
		return base == RULE_WORD &&
		       is_breg(expression(s->value[CFI_BP]), row->end, CFI_BP, false, offset);
	}
	return false;
}

static uint64_t pack(const struct cfi_row *row, uintptr_t pc)
{
	const struct cfi_state *s = &row->state;
	uint32_t base, bp_flags;
	int64_t cfa, bp;

	if (row->signal)
		return rule_pack(RULE_SIGNAL, 0, 0);
	if (s->how[CFI_RA] == CFI_UNDEFINED)
		return rule_pack(RULE_END, 0, 0);
	bool usual = BY_RECORDS ? s->how[CFI_BP] == CFI_OFFSET &&
					  s->value[CFI_RA] == s->value[CFI_BP] + (int64_t)WORD
				: s->value[CFI_RA] == -(int64_t)WORD;
	if (s->how[CFI_RA] != CFI_OFFSET || !usual || s->how[CFI_SP] != CFI_UNSET ||
	    !pack_cfa(row, pc, &base, &cfa) || !pack_bp(row, base, &bp_flags, &bp) ||
	    cfa > RULE_OFFSET_MAX || cfa < -RULE_OFFSET_MAX || bp > RULE_OFFSET_MAX ||
	    bp < -RULE_OFFSET_MAX)
		return rule_pack(RULE_SLOW, 0, 0);
	return rule_pack(RULE_FAST | base | bp_flags, cfa, bp);
}

bool mt_cfi_is_sigreturn(uintptr_t pc)
{
	return mt_prim_readable(pc, sizeof(sigreturn)) &&
	       !memcmp((const void *)pc, sigreturn, sizeof(sigreturn));
}

uint64_t mt_cfi_rule(const struct module *m, uintptr_t pc, bool exact)
{
	struct cfi_row row;
	unsigned reason;

	if (mt_cfi_is_coroutine_end(pc, exact))
		return rule_pack(RULE_END, 0, 0);
	reason = mt_cfi_row(m, pc, &row);
	if (reason == MTW_TRUNC_NONE)
		return pack(&row, pc);
	if (!exact && mt_cfi_is_sigreturn(pc + 1))
		return rule_pack(RULE_SIGNAL, 0, 0);
	if (mt_cfi_is_start(m, pc, exact))
		return rule_pack(RULE_END, 0, 0);
	bool proves =
		PROOFS && mt_unwind_evidence_allowed() && reason == MTW_TRUNC_NO_CFI && !exact;
	return rule_pack((proves ? RULE_PROVE : RULE_NONE) | reason << RULE_REASON_SHIFT, 0, 0);
}

static bool load(struct known *known, uint64_t addr, uint64_t *value)
{
	if ((addr & (WORD - 1)) || !unwind_readable(known, addr))
		return false;
	*value = *(const uint64_t *)(uintptr_t)addr;
	return true;
}

#if defined(__aarch64__)
bool mt_cfi_leave_signal(struct known *known, uintptr_t context, struct cfi_regs *r)
{
	struct cfi_regs next = { .known = ~0u };

	for (unsigned i = 0; i < CFI_REGS; i++) /* x0..x30, sp */
		if (!load(known, context + UC_X0 + i * WORD, &next.value[i]))
			return false;
	next.link = pc_code(next.value[CFI_RA]);
	if (!load(known, context + UC_X0 + CFI_REGS * WORD, &next.value[CFI_RA]))
		return false;
	next.value[CFI_RA] |= PC_EXACT;
	*r = next;
	return mt_unwind_enter(known, r->value[CFI_SP], false);
}

/* The kernel puts a siginfo of 128 bytes under the context. */
static bool step_signal(struct known *known, struct cfi_regs *r)
{
	return mt_cfi_leave_signal(known, r->value[CFI_SP] + 128, r);
}

/* `next` has the registers that the table recovered. A function that calls none leaves x30
 * unchanged: its value is known behind a signal only. */
static bool return_address(const struct cfi_row *row, const struct cfi_regs *r,
			   struct cfi_regs *next)
{
	uint8_t how = row->state.how[CFI_RA];

	if (how == CFI_UNSET || how == CFI_SAME) {
		next->value[CFI_RA] = r->link;
		return r->link != 0;
	}
	next->value[CFI_RA] = pc_code(next->value[CFI_RA]) & ~PC_EXACT;
	return next->known & 1u << CFI_RA;
}
#else
static bool step_signal(struct known *known, struct cfi_regs *r)
{
	/* In the order of a ucontext from r8 on; the pc last. */
	static const uint8_t order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };
	uint64_t context = r->value[CFI_SP];
	struct cfi_regs next = { .known = 0 };

	for (unsigned i = 0; i < sizeof(order); i++) {
		if (!load(known, context + UC_R8 + i * WORD, &next.value[order[i]]))
			return false;
		next.known |= 1u << order[i];
	}
	next.value[CFI_RA] |= PC_EXACT;
	*r = next;
	return mt_unwind_enter(known, r->value[CFI_SP], false);
}

static bool return_address(const struct cfi_row *row, const struct cfi_regs *r,
			   struct cfi_regs *next)
{
	(void)r;
	next->value[CFI_RA] &= ~PC_EXACT;
	return row->state.how[CFI_RA] != CFI_UNSET && next->known & 1u << CFI_RA;
}
#endif

static bool find_cfa(struct known *known, const struct cfi_regs *r, const struct cfi_row *row,
		     uint64_t *cfa)
{
	const struct cfi_state *s = &row->state;

	if (s->cfa_how == CFI_COMPUTED)
		return mt_cfi_eval(known, expression(s->cfa_value), row->end, r, NULL, cfa);
	if (s->cfa_how != CFI_OFFSET || s->cfa_reg >= CFI_REGS || !(r->known & 1u << s->cfa_reg))
		return false;
	*cfa = r->value[s->cfa_reg] + (uint64_t)s->cfa_value;
	return true;
}

/* One register of the caller into `next`; an unknown one is left out. */
static void recover(struct known *known, const struct cfi_regs *r, const struct cfi_row *row,
		    uint64_t cfa, unsigned reg, struct cfi_regs *next)
{
	const struct cfi_state *s = &row->state;
	uint64_t addr, v = r->value[reg];
	bool ok = r->known & 1u << reg;

	switch (s->how[reg]) {
	case CFI_UNDEFINED: ok = false; break;
	case CFI_OFFSET: ok = load(known, cfa + (uint64_t)s->value[reg], &v); break;
	case CFI_VALUE:
		v = cfa + (uint64_t)s->value[reg];
		ok = true;
		break;
	case CFI_REGISTER:
		ok = s->value[reg] < (int64_t)CFI_REGS && (r->known & 1u << s->value[reg]);
		v = ok ? r->value[s->value[reg]] : 0;
		break;
	case CFI_EXPRESSION:
		ok = mt_cfi_eval(known, expression(s->value[reg]), row->end, r, &cfa, &addr) &&
		     load(known, addr, &v);
		break;
	case CFI_COMPUTED:
		ok = mt_cfi_eval(known, expression(s->value[reg]), row->end, r, &cfa, &v);
		break;
	}
	next->value[reg] = ok ? v : 0;
	next->known |= ok ? 1u << reg : 0;
}

static bool step_row(struct known *known, struct cfi_regs *r, const struct cfi_row *row)
{
	struct cfi_regs next = { .known = 0 };
	uint64_t cfa;

	if (!find_cfa(known, r, row, &cfa) || (cfa & (WORD - 1)))
		return false;
	/* By the stack's own registers only outwards; others may lead to another stack, and
	 * inwards. */
	bool common = row->state.cfa_how == CFI_OFFSET &&
		      (row->state.cfa_reg == CFI_SP || row->state.cfa_reg == CFI_BP);
	bool frameless = r->link && cfa == r->value[CFI_SP];
	if (common ? cfa <= r->value[CFI_SP] && !frameless : !mt_unwind_enter(known, cfa, false))
		return false;
	for (unsigned reg = 0; reg < CFI_REGS; reg++)
		recover(known, r, row, cfa, reg, &next);
	if (row->state.how[CFI_SP] == CFI_UNSET || row->state.how[CFI_SP] == CFI_SAME) {
		next.value[CFI_SP] = cfa;
		next.known |= 1u << CFI_SP;
	}
	if (!return_address(row, r, &next) || !(next.known & 1u << CFI_SP))
		return false;
	if (!common && !mt_unwind_enter(known, next.value[CFI_SP], false))
		return false;
	*r = next;
	return true;
}

/* Without a table, or when it is of no use: by a proved frame pointer, or by the functions that
 * were entered. No other registers are known then. */
bool mt_cfi_step_without(struct known *known, struct cfi_regs *r, unsigned *reason)
{
	uintptr_t pc = r->value[CFI_RA], sp = r->value[CFI_SP];
	struct caller to;
	bool proven = PROOFS && mt_unwind_evidence_allowed() && *reason == MTW_TRUNC_NO_CFI &&
		      !(pc & PC_EXACT) && r->known & 1u << CFI_BP &&
		      mt_unwind_evidence_leave(known, pc, sp, r->value[CFI_BP], &to);

	if (!proven && !mt_call_stack_leave(known, pc, sp, &to))
		return false;
	*r = (struct cfi_regs){ .known = 1u << CFI_RA | 1u << CFI_SP };
	r->value[CFI_RA] = to.pc;
	r->value[CFI_SP] = to.sp;
	r->value[CFI_BP] = to.bp;
	if (proven || to.bp)
		r->known |= 1u << CFI_BP;
	*reason = MTW_TRUNC_NONE;
	return true;
}

bool mt_cfi_step(struct known *known, struct cfi_regs *r, unsigned *reason)
{
	uintptr_t pc = pc_lookup(r->value[CFI_RA]);
	bool exact = r->value[CFI_RA] & PC_EXACT;
	const struct module *m = mt_maps_find(pc);
	struct cfi_row row;
	bool ok;

	*reason = MTW_TRUNC_NONE;
	if (mt_cfi_is_coroutine_end(pc, exact))
		return false;
	*reason = mt_cfi_row(m, pc, &row);
	if (*reason == MTW_TRUNC_NONE && row.state.how[CFI_RA] == CFI_UNDEFINED && !row.signal)
		return false;
	bool no_row = *reason != MTW_TRUNC_NONE;
	if (no_row && mt_cfi_is_start(m, pc, exact)) {
		*reason = MTW_TRUNC_NONE;
		return false;
	}
	bool signal = no_row ? !exact && mt_cfi_is_sigreturn(pc + 1) : row.signal;
	if (no_row && !signal)
		return mt_cfi_step_without(known, r, reason);
	*reason = MTW_TRUNC_BAD_CFI;
	if (signal)
		ok = step_signal(known, r);
	else
		ok = step_row(known, r, &row) || mt_cfi_step_without(known, r, reason);
	if (!ok)
		return false;
	*reason = MTW_TRUNC_NONE;
	return r->value[CFI_RA] != 0;
}
