/* SPDX-License-Identifier: MIT
 *
 * cfi.c - finds and runs one FDE of .eh_frame (LSB 5, section 10.6; DWARF 5, section 6.4).
 *
 * Lazily, for one pc at a time: binary search in .eh_frame_hdr, then the CIE's and the FDE's
 * instructions up to that pc, 130 to 340 ns; the result is kept as a packed rule (rule.h) with the
 * code location. Parsing whole tables would cost milliseconds and megabytes (libLLVM: 861,000 rows).
 *
 * The tables are not trusted: all reading is bounded by the loaded segment that a table lies in.
 */
#include "cfi.h"
#include "maps.h"

#include <string.h>

#define REMEMBER_MAX 6

/* Pointer encodings (DW_EH_PE_*). */
#define PE_OMIT 0xff
#define PE_FORMAT 0x0f
#define PE_APPLY 0x70
#define PE_PCREL 0x10
#define PE_DATAREL 0x30
#define PE_INDIRECT 0x80

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t pointers;    /* encoding of the FDE's addresses */
	bool augmented;      /* 'z': the FDE has a length of augmentation data */
	bool signal;
	struct cfi_cursor code;
};

struct fde {
	struct cie cie;
	uintptr_t start, end;
	struct cfi_cursor code;
};

static uint64_t read_pointer(struct cfi_cursor *c, uint8_t encoding, uintptr_t data)
{
	uintptr_t here = (uintptr_t)c->at;
	uint64_t v;

	if (encoding == PE_OMIT)
		return 0;
	switch (encoding & PE_FORMAT) {
	case 0x00: /* absptr */
	case 0x04:
	case 0x0c: v = cfi_fixed(c, 8); break;
	case 0x01: v = cfi_uleb(c); break;
	case 0x02: v = cfi_fixed(c, 2); break;
	case 0x03: v = cfi_fixed(c, 4); break;
	case 0x09: v = (uint64_t)cfi_sleb(c); break;
	case 0x0a: v = (uint64_t)(int16_t)cfi_fixed(c, 2); break;
	case 0x0b: v = (uint64_t)(int32_t)cfi_fixed(c, 4); break;
	default: c->bad = true; return 0;
	}
	if ((encoding & PE_APPLY) == PE_PCREL)
		v += here;
	else if ((encoding & PE_APPLY) == PE_DATAREL)
		v += data;
	else if (encoding & PE_APPLY)
		c->bad = true;
	return v; /* indirect ones are personality routines only: never followed */
}

/* Length of a record at the cursor; the cursor is set to end with it. 0 at the terminator. */
static uint64_t record(struct cfi_cursor *c)
{
	uint64_t len = cfi_fixed(c, 4);

	if (len == 0xffffffff)
		len = cfi_fixed(c, 8);
	if (c->bad || len > (uint64_t)(c->end - c->at))
		c->bad = true;
	else
		c->end = c->at + len;
	return c->bad ? 0 : len;
}

static bool read_cie(struct cfi_cursor c, struct cie *cie)
{
	memset(cie, 0, sizeof(*cie));
	if (!record(&c) || cfi_fixed(&c, 4) != 0)
		return false;
	uint64_t version = cfi_fixed(&c, 1);
	const char *augmentation = (const char *)c.at;
	while (cfi_fixed(&c, 1) != 0)
		;
	if (c.bad || (version != 1 && version != 3))
		return false;
	cie->code_align = cfi_uleb(&c);
	cie->data_align = cfi_sleb(&c);
	cie->ra = version == 1 ? cfi_fixed(&c, 1) : cfi_uleb(&c);
	cie->augmented = *augmentation == 'z';
	if (cie->augmented) {
		uint64_t len = cfi_uleb(&c);
		struct cfi_cursor data = c;
		if (c.bad || len > (uint64_t)(c.end - c.at))
			return false;
		data.end = c.at + len;
		c.at += len;
		for (augmentation++; *augmentation; augmentation++) {
			switch (*augmentation) {
			case 'R': cie->pointers = (uint8_t)cfi_fixed(&data, 1); break;
			case 'L': cfi_fixed(&data, 1); break;
			case 'P': {
				uint8_t encoding = (uint8_t)cfi_fixed(&data, 1);
				read_pointer(&data, encoding & ~(PE_APPLY | PE_INDIRECT), 0);
				break;
			}
			case 'S': cie->signal = true; break;
			case 'B': break;
			default: augmentation = "z"; /* the rest is unknown, and skipped by its length */
			}
		}
		if (data.bad)
			return false;
	} else if (*augmentation) {
		return false;
	}
	cie->code = c;
	return !c.bad;
}

static bool read_fde(struct cfi_cursor c, const uint8_t *low, struct fde *fde)
{
	const uint8_t *limit = c.end;

	if (!record(&c))
		return false;
	const uint8_t *here = c.at;
	uint64_t back = cfi_fixed(&c, 4);
	if (back == 0 || back > (uint64_t)(here - low))
		return false;
	struct cfi_cursor parent = { here - back, limit, false };
	if (!read_cie(parent, &fde->cie))
		return false;
	fde->start = read_pointer(&c, fde->cie.pointers, 0);
	fde->end = fde->start + read_pointer(&c, fde->cie.pointers & PE_FORMAT, 0);
	if (fde->cie.augmented) {
		uint64_t len = cfi_uleb(&c);
		if (c.bad || len > (uint64_t)(c.end - c.at))
			return false;
		c.at += len;
	}
	fde->code = c;
	return !c.bad;
}

/* The table sorted by address: count pairs of (pc, FDE), both relative to the header. */
static const uint8_t *search(const uint8_t *table, uint64_t count, uintptr_t base, uintptr_t pc)
{
	uint64_t from = 0, to = count;
	int32_t entry[2];

	while (from < to) {
		uint64_t middle = from + (to - from) / 2;
		memcpy(entry, table + middle * 8, sizeof(entry));
		if (base + (uintptr_t)(intptr_t)entry[0] <= pc)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == 0)
		return NULL;
	memcpy(entry, table + (from - 1) * 8, sizeof(entry));
	return (const uint8_t *)(base + (uintptr_t)(intptr_t)entry[1]);
}

static bool fde_at(const struct module *m, uintptr_t addr, struct fde *fde)
{
	uintptr_t low, high;

	if (!mt_maps_segment(m, addr, &low, &high))
		return false;
	struct cfi_cursor c = { (const uint8_t *)addr, (const uint8_t *)high, false };
	return read_fde(c, (const uint8_t *)low, fde);
}

/* No usable table: .eh_frame from its start. */
static bool scan(const struct module *m, uintptr_t addr, uintptr_t pc, struct fde *fde)
{
	uintptr_t low, high;

	if (!mt_maps_segment(m, addr, &low, &high))
		return false;
	struct cfi_cursor c = { (const uint8_t *)addr, (const uint8_t *)high, false };
	while (!c.bad) {
		struct cfi_cursor next = c;
		if (!record(&next))
			return false;
		if (read_fde(c, (const uint8_t *)low, fde) && pc >= fde->start && pc < fde->end)
			return true;
		c.at = next.end;
	}
	return false;
}

static bool find_fde(const struct module *m, uintptr_t pc, struct fde *fde)
{
	uintptr_t low, high;

	if (!m->eh_frame_hdr || !mt_maps_segment(m, m->eh_frame_hdr, &low, &high))
		return false;
	struct cfi_cursor c = { (const uint8_t *)m->eh_frame_hdr, (const uint8_t *)high, false };
	if (cfi_fixed(&c, 1) != 1)
		return false;
	uint8_t frame_encoding = (uint8_t)cfi_fixed(&c, 1);
	uint8_t count_encoding = (uint8_t)cfi_fixed(&c, 1);
	uint8_t table_encoding = (uint8_t)cfi_fixed(&c, 1);
	uintptr_t frames = read_pointer(&c, frame_encoding, m->eh_frame_hdr);
	uint64_t count = read_pointer(&c, count_encoding, m->eh_frame_hdr);
	if (c.bad)
		return false;
	if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | 0x0b))
		return scan(m, frames, pc, fde);
	if (count > (uint64_t)(c.end - c.at) / 8)
		return false;
	const uint8_t *at = search(c.at, count, m->eh_frame_hdr, pc);
	return at && fde_at(m, (uintptr_t)at, fde) && pc >= fde->start && pc < fde->end;
}

struct program {
	struct cfi_cursor c;
	const struct cie *cie;
	struct cfi_state *state;
	const struct cfi_state *initial; /* after the CIE's instructions */
	uintptr_t at, pc;                /* row under construction, row wanted */
	struct cfi_state saved[REMEMBER_MAX];
	unsigned saved_count;
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
	case 0x0d: /* def_cfa_register */
		set_cfa(p, cfi_uleb(&p->c), p->state->cfa_value);
		break;
	case 0x0e: /* def_cfa_offset */
		p->state->cfa_value = (int64_t)cfi_uleb(&p->c);
		break;
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
	case 2: set_reg(p, low, CFI_OFFSET, (int64_t)cfi_uleb(&p->c) * p->cie->data_align); return true;
	case 3: restore_reg(p, low); return true;
	}
	switch (op) {
	case 0x00: return true; /* nop */
	case 0x01: p->at = read_pointer(&p->c, p->cie->pointers, 0); return true;
	case 0x02: advance(p, cfi_fixed(&p->c, 1)); return true;
	case 0x03: advance(p, cfi_fixed(&p->c, 2)); return true;
	case 0x04: advance(p, cfi_fixed(&p->c, 4)); return true;
	case 0x0a: /* remember_state */
		if (p->saved_count == REMEMBER_MAX)
			return false;
		p->saved[p->saved_count++] = *p->state;
		return true;
	case 0x0b: /* restore_state: the CFA as well, as compilers mean it */
		if (p->saved_count == 0)
			return false;
		*p->state = p->saved[--p->saved_count];
		return true;
	case 0x0c: case 0x0d: case 0x0e: case 0x0f: case 0x12: case 0x13:
		run_cfa(p, op);
		return true;
	case 0x05: case 0x06: case 0x07: case 0x08: case 0x09: case 0x10: case 0x11: case 0x14:
	case 0x15: case 0x16: case 0x2f:
		run_reg(p, op);
		return true;
	case 0x2e: /* GNU_args_size: of interest to exception handlers only */
		cfi_uleb(&p->c);
		return true;
#if defined(__aarch64__)
	case 0x2d: /* AARCH64_negate_ra_state: the return address is signed from here on; codes are always stripped */
		return true;
#endif
	}
	return false;
}

static bool run(struct program *p)
{
	while (p->c.at < p->c.end && p->at <= p->pc) {
		if (!run_one(p) || p->c.bad)
			return false;
	}
	return true;
}

unsigned mt_cfi_row(const struct module *m, uintptr_t pc, struct cfi_row *row)
{
	struct fde fde;
	struct cfi_state initial;

	memset(row, 0, sizeof(*row));
	if (!m || !find_fde(m, pc, &fde))
		return MTW_TRUNC_NO_CFI;
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
