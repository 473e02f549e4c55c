/* SPDX-License-Identifier: MIT
 *
 * expr.c - DWARF expressions as unwind tables use them (DWARF 5, section 2.5 without types).
 *
 * Every read of memory is checked; the number of steps is bounded, since expressions may branch.
 */
#include "cfi/expr.h"

#include <string.h>

#define STACK_MAX 16
#define STEPS_MAX 500

struct machine {
	struct cfi_cursor code;
	const uint8_t *begin;
	const struct cfi_regs *r;
	struct known *known;
	uint64_t stack[STACK_MAX];
	unsigned depth;
	bool failed;
};

static void push(struct machine *m, uint64_t v)
{
	if (m->depth == STACK_MAX)
		m->failed = true;
	else
		m->stack[m->depth++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (m->depth == 0) {
		m->failed = true;
		return 0;
	}
	return m->stack[--m->depth];
}

static uint64_t peek(struct machine *m, unsigned index)
{
	if (index >= m->depth) {
		m->failed = true;
		return 0;
	}
	return m->stack[m->depth - 1 - index];
}

static uint64_t reg(struct machine *m, uint64_t number)
{
	if (number >= CFI_REGS || !(m->r->known & 1u << number)) {
		m->failed = true;
		return 0;
	}
	return number == CFI_RA ? pc_bare(m->r->value[number]) : m->r->value[number];
}

static uint64_t load(struct machine *m, uint64_t addr, uint64_t bytes)
{
	uint64_t v = 0;

	if (bytes == 0 || bytes > 8 || !unwind_readable(m->known, addr)) {
		m->failed = true;
		return 0;
	}
	memcpy(&v, (const void *)(uintptr_t)addr, bytes);
	return v;
}

static void jump(struct machine *m, bool taken)
{
	int16_t by = (int16_t)cfi_fixed(&m->code, 2);

	if (!taken || m->code.bad)
		return;
	if (by < m->begin - m->code.at || by > m->code.end - m->code.at)
		m->failed = true;
	else
		m->code.at += by;
}

/* DW_OP_const1u .. DW_OP_consts */
static uint64_t constant(struct machine *m, uint8_t op)
{
	static const uint8_t bytes[] = { 1, 1, 2, 2, 4, 4, 8, 8 };

	if (op == 0x10)
		return cfi_uleb(&m->code);
	if (op == 0x11)
		return (uint64_t)cfi_sleb(&m->code);
	unsigned n = bytes[op - 0x08];
	uint64_t v = cfi_fixed(&m->code, n);
	if ((op & 1) && n < 8 && (v >> (8 * n - 1)))
		v |= ~UINT64_C(0) << (8 * n);
	return v;
}

/* Operations on two values: b was pushed last. */
static uint64_t binary(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case 0x1a: return a & b;
	case 0x1b:
		if (sb == 0 || (sb == -1 && sa == INT64_MIN)) {
			m->failed = true;
			return 0;
		}
		return (uint64_t)(sa / sb);
	case 0x1c: return a - b;
	case 0x1d:
		if (b == 0) {
			m->failed = true;
			return 0;
		}
		return a % b;
	case 0x1e: return a * b;
	case 0x21: return a | b;
	case 0x22: return a + b;
	case 0x24: return b < 64 ? a << b : 0;
	case 0x25: return b < 64 ? a >> b : 0;
	case 0x26: return (uint64_t)(sa >> (b < 64 ? b : 63));
	case 0x27: return a ^ b;
	case 0x29: return sa == sb;
	case 0x2a: return sa >= sb;
	case 0x2b: return sa > sb;
	case 0x2c: return sa <= sb;
	case 0x2d: return sa < sb;
	case 0x2e: return sa != sb;
	}
	m->failed = true;
	return 0;
}

static void shuffle(struct machine *m, uint8_t op)
{
	uint64_t a, b, c;

	switch (op) {
	case 0x12: push(m, peek(m, 0)); break;                                /* dup */
	case 0x13: pop(m); break;                                             /* drop */
	case 0x14: push(m, peek(m, 1)); break;                                /* over */
	case 0x15: push(m, peek(m, (unsigned)cfi_fixed(&m->code, 1))); break; /* pick */
	case 0x16:                                                            /* swap */
		b = pop(m);
		a = pop(m);
		push(m, b);
		push(m, a);
		break;
	case 0x17: /* rot */
		c = pop(m);
		b = pop(m);
		a = pop(m);
		push(m, c);
		push(m, a);
		push(m, b);
		break;
	}
}

static void execute(struct machine *m, uint8_t op)
{
	uint64_t a, b;

	if (op >= 0x30 && op <= 0x4f) { /* lit0 .. lit31 */
		push(m, op - 0x30u);
	} else if (op >= 0x50 && op <= 0x6f) { /* reg: the register's own value */
		push(m, reg(m, op - 0x50u));
	} else if (op >= 0x70 && op <= 0x8f) { /* breg0 .. breg31 */
		a = reg(m, op - 0x70u);
		push(m, a + (uint64_t)cfi_sleb(&m->code));
	} else if (op >= 0x08 && op <= 0x11) {
		push(m, constant(m, op));
	} else if (op >= 0x12 && op <= 0x17) {
		shuffle(m, op);
	} else {
		switch (op) {
		case 0x03: push(m, cfi_fixed(&m->code, 8)); break; /* addr */
		case 0x06: push(m, load(m, pop(m), 8)); break;     /* deref */
		case 0x94:                                         /* deref_size */
			b = cfi_fixed(&m->code, 1);
			push(m, load(m, pop(m), b));
			break;
		case 0x92: /* bregx */
			a = reg(m, cfi_uleb(&m->code));
			push(m, a + (uint64_t)cfi_sleb(&m->code));
			break;
		case 0x19: /* abs */
			a = pop(m);
			push(m, (int64_t)a < 0 ? -a : a);
			break;
		case 0x1f: push(m, -pop(m)); break; /* neg */
		case 0x20: push(m, ~pop(m)); break; /* not */
		case 0x23:                          /* plus_uconst */
			a = pop(m);
			push(m, a + cfi_uleb(&m->code));
			break;
		case 0x28: jump(m, pop(m) != 0); break; /* bra */
		case 0x2f: jump(m, true); break;        /* skip */
		case 0x96: break;                       /* nop */
		default:
			b = pop(m);
			a = pop(m);
			push(m, binary(m, op, a, b));
		}
	}
}

bool mt_cfi_eval(struct known *known, const uint8_t *expr, const uint8_t *end,
		 const struct cfi_regs *r, const uint64_t *initial, uint64_t *result)
{
	struct machine m = { .code = { expr, end, false }, .r = r, .known = known };
	uint64_t len = cfi_uleb(&m.code);

	if (m.code.bad || len > (uint64_t)(end - m.code.at))
		return false;
	m.begin = m.code.at;
	m.code.end = m.code.at + len;
	if (initial)
		push(&m, *initial);
	for (unsigned steps = 0; m.code.at < m.code.end; steps++) {
		if (steps == STEPS_MAX)
			return false;
		execute(&m, (uint8_t)cfi_fixed(&m.code, 1));
		if (m.failed || m.code.bad)
			return false;
	}
	*result = pop(&m);
	return !m.failed;
}
