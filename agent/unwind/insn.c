/* SPDX-License-Identifier: MIT
 *
 * insn.c - lengths of x86-64 instructions (Intel SDM volume 2, chapter 2 and appendix A).
 *
 * It decodes enough to step through compiled code: prefixes, REX, VEX and EVEX, the four opcode
 * maps, ModRM with its displacement, immediates. The effect of an instruction matters only for a
 * handful that move rsp and rbp (unwind/fp_evidence.c), so the decoder keeps only the fields.
 */
#include "unwind/insn.h"
#include "base/types.h"

#include <string.h>

struct bytes {
	const uint8_t *at;
	size_t room, used;
	bool bad;
};

static uint8_t next(struct bytes *b)
{
	if (b->used >= b->room || b->used >= INSN_MAX) {
		b->bad = true;
		return 0;
	}
	return b->at[b->used++];
}

static int64_t number(struct bytes *b, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)next(b) << (8 * i);
	if (bytes && bytes < 8 && v >> (8 * bytes - 1))
		v |= ~UINT64_C(0) << (8 * bytes);
	return (int64_t)v;
}

/* A bit for each opcode of a map. */
struct opcodes {
	uint32_t word[8];
};

static bool has(const struct opcodes *set, uint8_t op)
{
	return set->word[op >> 5] >> (op & 31) & 1;
}

/* One-byte map, from bit 0 of word 0 on: opcodes 00-1f, 20-3f, ... */
static const struct opcodes with_modrm = { { 0x0f0f0f0f, 0x0f0f0f0f, 0, 0x00000a08, 0x0000ffff, 0,
					     0xff0f00c3, 0xc0c00000 } };
static const struct opcodes without_meaning = { { 0xc0c040c0, 0x80808080, 0, 0x00000003, 0x04000004,
						  0, 0x00704000, 0x00000400 } };
/* The map behind 0f. */
static const struct opcodes without_modrm_0f = { { 0x00004be0, 0x00ff0000, 0, 0x00800000,
						   0x0000ffff, 0x00000707, 0x0000ff00, 0 } };
static const struct opcodes with_byte_0f = { { 0, 0, 0, 0x000f0000, 0, 0x04001010, 0x00000074,
					       0 } };

/* Bytes of the immediate of a one-byte opcode. operand: 2 or 4; wide: REX.W. */
static unsigned immediate(uint8_t op, unsigned reg, unsigned operand, bool wide, bool short_address)
{
	if (op < 0x40)
		return (op & 7) == 4 ? 1 : (op & 7) == 5 ? operand : 0;
	if ((op >= 0x70 && op <= 0x7f) || (op >= 0xb0 && op <= 0xb7) || (op >= 0xe0 && op <= 0xe7))
		return 1;
	if (op >= 0xb8 && op <= 0xbf)
		return wide ? 8 : operand;
	if (op >= 0xa0 && op <= 0xa3)
		return short_address ? 4 : 8;
	switch (op) {
	case 0x6a:
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xa8:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xeb: return 1;
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7: return operand;
	case 0xe8:
	case 0xe9: return 4;
	case 0xc2: return 2;
	case 0xc8: return 3;
	case 0xf6: return reg < 2 ? 1 : 0;
	case 0xf7: return reg < 2 ? operand : 0;
	}
	return 0;
}

static void read_modrm(struct bytes *b, uint8_t rex, bool vsib, struct insn *i)
{
	uint8_t modrm = next(b), base;
	unsigned disp;

	i->has_modrm = true;
	i->mod = modrm >> 6;
	i->reg = (uint8_t)((modrm >> 3 & 7) | (rex & 4) << 1);
	i->rm = (uint8_t)((modrm & 7) | (rex & 1) << 3);
	if (i->mod == 3)
		return;
	disp = i->mod == 1 ? 1 : i->mod == 2 ? 4 : 0;
	base = modrm & 7;
	if (base == 4) {
		uint8_t sib = next(b);
		base = sib & 7;
		i->sib_rsp = !vsib && (sib & 0x3f) == 0x24 && !(rex & 3);
		i->rm = 0xff; /* rsp, or a register plus another one: not told apart any further */
	}
	if (i->mod == 0 && base == 5)
		disp = 4;
	if (i->mod == 0 && (modrm & 7) == 5)
		i->rm = 0xff; /* at rip */
	i->disp = (int32_t)number(b, disp);
}

/* VEX: c5, c4; EVEX: 62. Their bits for registers beyond the 16 do not matter. */
static void read_vector(struct bytes *b, uint8_t first, struct insn *i)
{
	uint8_t one = next(b), rex = 0;

	i->map = 1;
	if (first == 0xc5) {
		rex = one & 0x80 ? 0 : 4;
	} else {
		rex = (uint8_t)((~one >> 5) & 7);
		i->map = first == 0x62 ? one & 7 : one & 31;
		i->wide = next(b) & 0x80;
		if (first == 0x62)
			next(b);
	}
	i->op = next(b);
	if (i->map < 1 || i->map > 6)
		b->bad = true;
	if (i->map == 1 && i->op == 0x77 && first != 0x62)
		return;
	read_modrm(b, rex, i->map == 2, i);
	if (i->map == 3 || (i->map == 1 && has(&with_byte_0f, i->op)))
		i->imm = number(b, 1);
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65;
}

static void read_two_byte(struct bytes *b, uint8_t rex, struct insn *i)
{
	i->map = 1;
	i->op = next(b);
	if (i->op == 0x38 || i->op == 0x3a) {
		i->map = i->op == 0x38 ? 2 : 3;
		i->op = next(b);
	}
	if (i->map != 1 || !has(&without_modrm_0f, i->op))
		read_modrm(b, rex, false, i);
	if (i->map == 3 || (i->map == 1 && has(&with_byte_0f, i->op)))
		i->imm = number(b, 1);
	else if (i->map == 1 && i->op >= 0x80 && i->op <= 0x8f)
		i->imm = number(b, 4);
}

bool mt_insn_read(const uint8_t *at, size_t room, struct insn *i)
{
	struct bytes b = { at, room, 0, false };
	unsigned operand = 4;
	bool short_address = false;
	uint8_t rex = 0, byte;

	memset(i, 0, sizeof(*i));
	while (is_prefix(byte = next(&b)) && !b.bad) {
		operand = byte == 0x66 ? 2 : operand;
		short_address |= byte == 0x67;
	}
	if ((byte & 0xf0) == 0x40) {
		rex = byte;
		byte = next(&b);
		i->wide = rex & 8;
		operand = i->wide ? 4 : operand;
	}
	if (byte == 0x0f) {
		read_two_byte(&b, rex, i);
	} else if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		read_vector(&b, byte, i);
	} else {
		i->op = byte;
		b.bad |= has(&without_meaning, byte);
		if (has(&with_modrm, byte))
			read_modrm(&b, rex, false, i);
		else if ((byte & 0xf0) == 0x50 || (byte & 0xf8) == 0x90 || (byte & 0xf8) == 0xb8)
			i->reg = (uint8_t)((byte & 7) | (rex & 1) << 3);
		i->imm = number(&b, immediate(byte, i->reg & 7, operand, i->wide, short_address));
	}
	i->bytes = (uint8_t)b.used;
	return !b.bad;
}
