/* SPDX-License-Identifier: MIT
 *
 * cfi.c - runs one FDE of .eh_frame (LSB 5, section 10.6; DWARF 5, section 6.4).
 *
 * It works lazily, for one pc at a time: it runs the CIE's and the FDE's instructions up to that
 * pc. Finding and running them takes 130 to 340 ns (cfi/table.c). The result is kept with the code
 * location as a packed rule (unwind/rule.h). Parsing whole tables would cost milliseconds and
 * megabytes (libLLVM: 861,000 rows).
 */
#include "cfi/cfi.h"
#include "cfi/records.h"
#include "cfi/table.h"

#include <string.h>

#define REMEMBER_MAX 6

struct program {
	struct cfi_cursor c;
	const struct cie *cie;
	struct cfi_state *state;
	const struct cfi_state *initial; /* after the CIE's instructions */
	uintptr_t at, pc;                /* row under construction, row wanted */
	unsigned remembered;             /* states: each is in a frame of run() */
	bool restores;                   /* the newest of them */
};

static void set_reg(struct program *p, uint64_t reg, enum cfi_how how, int64_t value)
{
	if (reg < CFI_REGS) { /* vector registers and the like do not matter */
		p->state->how[reg] = (uint8_t)how;
		p->state->value[reg] = value;
	}
}

static void restore_reg(struct program *p, uint64_t reg)
{
	if (reg < CFI_REGS && p->initial) {
		p->state->how[reg] = p->initial->how[reg];
		p->state->value[reg] = p->initial->value[reg];
	}
}

static int64_t skip_expression(struct program *p)
{
	int64_t at = (int64_t)(intptr_t)p->c.at;
	uint64_t len = cfi_uleb(&p->c);

	if (len > (uint64_t)(p->c.end - p->c.at))
		p->c.bad = true;
	else
		p->c.at += len;
	return at;
}

static void set_cfa(struct program *p, uint64_t reg, int64_t offset)
{
	p->state->cfa_how = CFI_OFFSET;
	p->state->cfa_reg = reg < CFI_REGS ? (uint8_t)reg : UINT8_MAX;
	p->state->cfa_value = offset;
}

static void run_cfa(struct program *p, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: /* def_cfa */
		reg = cfi_uleb(&p->c);
		set_cfa(p, reg, (int64_t)cfi_uleb(&p->c));
		break;
	case 0x12: /* def_cfa_sf */
		reg = cfi_uleb(&p->c);
		set_cfa(p, reg, cfi_sleb(&p->c) * p->cie->data_align);
		break;
	case 0x0d: /* def_cfa_register */ set_cfa(p, cfi_uleb(&p->c), p->state->cfa_value); break;
	case 0x0e: /* def_cfa_offset */ p->state->cfa_value = (int64_t)cfi_uleb(&p->c); break;
	case 0x13: /* def_cfa_offset_sf */
		p->state->cfa_value = cfi_sleb(&p->c) * p->cie->data_align;
		break;
	case 0x0f: /* def_cfa_expression */
		p->state->cfa_how = CFI_COMPUTED;
		p->state->cfa_value = skip_expression(p);
		break;
	}
}

static void run_reg(struct program *p, uint8_t op)
{
	uint64_t reg = cfi_uleb(&p->c);
	int64_t align = p->cie->data_align;

	switch (op) {
	case 0x05: set_reg(p, reg, CFI_OFFSET, (int64_t)cfi_uleb(&p->c) * align); break;
	case 0x06: restore_reg(p, reg); break;
	case 0x07: set_reg(p, reg, CFI_UNDEFINED, 0); break;
	case 0x08: set_reg(p, reg, CFI_SAME, 0); break;
	case 0x09: set_reg(p, reg, CFI_REGISTER, (int64_t)cfi_uleb(&p->c)); break;
	case 0x10: set_reg(p, reg, CFI_EXPRESSION, skip_expression(p)); break;
	case 0x11: set_reg(p, reg, CFI_OFFSET, cfi_sleb(&p->c) * align); break;
	case 0x14: set_reg(p, reg, CFI_VALUE, (int64_t)cfi_uleb(&p->c) * align); break;
	case 0x15: set_reg(p, reg, CFI_VALUE, cfi_sleb(&p->c) * align); break;
	case 0x16: set_reg(p, reg, CFI_COMPUTED, skip_expression(p)); break;
	case 0x2f: set_reg(p, reg, CFI_OFFSET, -(int64_t)cfi_uleb(&p->c) * align); break;
	}
}

static bool remember(struct program *p);

static void advance(struct program *p, uint64_t delta)
{
	p->at += delta * p->cie->code_align;
}

/* One instruction; false: unknown, so nothing after it can be trusted. */
static bool run_one(struct program *p)
{
	uint8_t op = (uint8_t)cfi_fixed(&p->c, 1);
	uint8_t low = op & 0x3f;

	switch (op >> 6) {
	case 1: advance(p, low); return true;
	case 2:
		set_reg(p, low, CFI_OFFSET, (int64_t)cfi_uleb(&p->c) * p->cie->data_align);
		return true;
	case 3: restore_reg(p, low); return true;
	}
	switch (op) {
	case 0x00: return true; /* nop */
	case 0x01: p->at = mt_cfi_pointer(&p->c, p->cie->pointers, 0); return true;
	case 0x02: advance(p, cfi_fixed(&p->c, 1)); return true;
	case 0x03: advance(p, cfi_fixed(&p->c, 2)); return true;
	case 0x04: advance(p, cfi_fixed(&p->c, 4)); return true;
	case 0x0a: return remember(p);
	case 0x0b: /* restore_state */ p->restores = p->remembered > 0; return p->restores;
	case 0x0c:
	case 0x0d:
	case 0x0e:
	case 0x0f:
	case 0x12:
	case 0x13: run_cfa(p, op); return true;
	case 0x05:
	case 0x06:
	case 0x07:
	case 0x08:
	case 0x09:
	case 0x10:
	case 0x11:
	case 0x14:
	case 0x15:
	case 0x16:
	case 0x2f: run_reg(p, op); return true;
	case 0x2e: /* GNU_args_size: of interest to exception handlers only */
		cfi_uleb(&p->c);
		return true;
#if defined(__aarch64__)
	/* AARCH64_negate_ra_state: the return address is signed from here on; codes are always
	 * stripped */
	case 0x2d: return true;
#endif
	}
	return false;
}

/* To the end, or to what restores the newest state. */
static bool run(struct program *p)
{
	while (p->c.at < p->c.end && p->at <= p->pc && !p->restores) {
		if (!run_one(p) || p->c.bad)
			return false;
	}
	return true;
}

/* Few programs remember a state, and a thread may have only 2 KiB of stack (musl): so it takes room
 * only where it does. The CFA is restored as well, as compilers mean it. */
static __attribute__((noinline)) bool remember(struct program *p)
{
	struct cfi_state kept = *p->state;

	if (p->remembered == REMEMBER_MAX)
		return false;
	p->remembered++;
	if (!run(p))
		return false;
	p->remembered--;
	if (p->restores)
		*p->state = kept;
	p->restores = false;
	return true;
}

unsigned mt_cfi_row(const struct module *m, uintptr_t pc, struct cfi_row *row)
{
	struct fde fde;
	struct cfi_state initial;

	memset(row, 0, sizeof(*row));
	unsigned reason = mt_cfi_find(m, pc, &fde);
	if (reason != MTW_TRUNC_NONE)
		return reason;
	if (fde.cie.ra != CFI_RA)
		return MTW_TRUNC_BAD_CFI;
	struct program p = { .cie = &fde.cie, .state = &row->state, .at = fde.start, .pc = pc };
	p.c = fde.cie.code;
	if (!run(&p))
		return MTW_TRUNC_BAD_CFI;
	initial = row->state;
	p.initial = &initial;
	p.c = fde.code;
	if (!run(&p))
		return MTW_TRUNC_BAD_CFI;
	row->signal = fde.cie.signal;
	row->from = fde.start;
	row->to = fde.end;
	row->end = fde.code.end > fde.cie.code.end ? fde.code.end : fde.cie.code.end;
	return MTW_TRUNC_NONE;
}
