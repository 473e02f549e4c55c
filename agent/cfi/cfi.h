/* SPDX-License-Identifier: MIT
 *
 * cfi.h - reads .eh_frame on demand: the row of the unwind table that holds for one pc.
 */
#ifndef MT_CFI_CFI_H
#define MT_CFI_CFI_H

#include "base/compiler.h"
#include "base/types.h"

#include <memtop/wire.h>

#if defined(__arm__)
#define CFI_TABLES false /* unwind/ehabi.c has the tables of this machine */
#else
#define CFI_TABLES true
#endif

#if defined(__aarch64__)
/* DWARF for the Arm 64-bit Architecture: x0..x30, sp; vector registers follow */
#define CFI_REGS 32u
#define CFI_BP 29u
#define CFI_SP 31u
#define CFI_RA 30u /* the link register; its place holds a frame's pc */
#else
#define CFI_REGS 17u /* x86-64: 0..15 general, 16 the return address */
#define CFI_BP 6u
#define CFI_SP 7u
#define CFI_RA 16u
#endif

enum cfi_how {
	CFI_UNSET = 0, /* no rule: by the ABI's default the register is unchanged, as with SAME */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_OFFSET,     /* saved at CFA + value */
	CFI_VALUE,      /* is CFA + value */
	CFI_REGISTER,   /* is in register value */
	CFI_EXPRESSION, /* saved at the address that the expression at `value` computes */
	CFI_COMPUTED,   /* is what the expression says */
};

struct cfi_state {
	uint8_t how[CFI_REGS];   /* enum cfi_how */
	int64_t value[CFI_REGS]; /* offset, register, or address of an expression's length */
	uint8_t cfa_how;         /* CFI_OFFSET: register + offset; CFI_COMPUTED: expression */
	uint8_t cfa_reg;
	int64_t cfa_value;
};

struct cfi_row {
	struct cfi_state state;
	bool signal;        /* frame of a signal handler's return */
	const uint8_t *end; /* of the memory that expressions lie in */
	uintptr_t from, to; /* the code that the FDE covers */
};

/* All registers of a frame, as far as they are known. */
struct cfi_regs {
	uint64_t value[CFI_REGS]; /* [CFI_RA] = pc, with PC_EXACT */
	/* AArch64: x30's own value in a frame that a signal interrupted; 0 = unknown, because the
	 * frame made a call */
	uint64_t link;
	uint32_t known; /* bit per register */
};

/* MTW_TRUNC_NONE, or why there is no row. */
unsigned mt_cfi_row(const struct module *m, uintptr_t pc, struct cfi_row *row);

/* A position in untrusted tables; after an overrun every read returns 0. */
struct cfi_cursor {
	const uint8_t *at, *end;
	bool bad;
};

MT_INLINE uint64_t cfi_fixed(struct cfi_cursor *c, unsigned bytes)
{
	uint64_t v = 0;

	if (c->bad || (size_t)(c->end - c->at) < bytes) {
		c->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)c->at[i] << (8 * i);
	c->at += bytes;
	return v;
}

MT_INLINE uint64_t cfi_uleb(struct cfi_cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = cfi_fixed(c, 1);
		v |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

MT_INLINE int64_t cfi_sleb(struct cfi_cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = cfi_fixed(c, 1);
		v |= (byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if ((byte & 0x40) && shift + 7 < 64)
				v |= ~UINT64_C(0) << (shift + 7);
			return (int64_t)v;
		}
	}
	c->bad = true;
	return 0;
}

#endif
