/* SPDX-License-Identifier: MIT
 *
 * insn.h - one x86-64 instruction: its length, and the fields that show its effect on rsp and rbp.
 */
#ifndef MT_UNWIND_INSN_H
#define MT_UNWIND_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_MAX 15u /* bytes; the processor refuses longer ones */

struct insn {
	uint8_t bytes; /* of all */
	uint8_t map;   /* 0: one-byte opcodes; 1: 0f; 2: 0f 38; 3: 0f 3a */
	uint8_t op;
	bool wide; /* REX.W */
	bool has_modrm;
	/* reg and rm with REX's fourth bit; reg also of opcodes that have a register in them */
	uint8_t mod, reg, rm;
	bool sib_rsp; /* memory at rsp + disp, no index */
	int32_t disp;
	int64_t imm; /* or a jump's distance */
};

/* Decodes at[0..room). false: no instruction of 64-bit code, or cut off. */
bool mt_insn_read(const uint8_t *at, size_t room, struct insn *i);

#endif
