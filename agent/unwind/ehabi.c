/* SPDX-License-Identifier: MIT
 *
 * ehabi.c - stacks on 32-bit ARM, by its own tables (Exception Handling ABI for the Arm
 * Architecture, IHI 0038, sections 5, 6, 9 and 10): ARM has no .eh_frame, and code does not agree
 * on a frame record.
 *
 * A table entry gives a function's start and its unwind instructions: one or two bytes each, they
 * move a virtual stack pointer and pop registers. They hold at a call, not at every instruction;
 * even in a leaf that a signal interrupted they take the return address from lr. A frame's size may
 * depend on any saved register, so the walk tracks all. It begins in this file's own frame, whose
 * registers are at hand, and goes outwards to the hook's caller before it lists anything.
 *
 * The tables are not trusted: memory that they refer to is read only where unwind_readable() admits
 * it, and the stack pointer moves outwards only.
 *
 * An entry that moves the stack pointer only by its own constants, and pops the return address
 * last, is a packed rule (unwind/rule.h). Its layout is x86-64's, so unwind/incremental.c walks
 * only new frames. A walk from here handles frames that need another register, and signals. Code
 * without a table (C built with neither -funwind-tables nor -fexceptions) ends a stack, and the
 * stack says so.
 */
#if defined(__arm__)
#include "unwind/ehabi.h"
#include "base/libc.h"
#include "base/compiler.h"
#include "cfi/outermost.h"
#include "modules/maps.h"
#include "modules/segments.h"
#include "unwind/rule.h"

#include <elf.h>
#include <memtop/wire.h>
#include <string.h>
#include <sys/auxv.h>

#define WORD 4u
#define SP 13
#define LR 14
#define PC 15
#define CANTUNWIND 1u
#define OWN_FRAMES                                                                                 \
	32             /* of the agent's functions between this file and a hook's caller, at most  \
			*/
#define START_BYTES 64 /* the program's entry code, which says that it cannot be left */
#define CLONE_BYTES 256
#define CONTROL_BYTES 4096 /* its own, and the frame that it is found in */

struct regs_of {
	uint32_t r[16]; /* [PC] without the Thumb bit */
};

/* The instructions of one entry: bytes of words, the highest first. */
struct code_of {
	const uint32_t *word, *end; /* further words; end: of the memory that may be read */
	uint32_t now;               /* bytes left of the present word, in its upper part */
	unsigned left, more;        /* how many bytes; how many words follow */
	bool sp_saved;              /* sp was popped, too */
};

static uintptr_t prel31(const uint32_t *at)
{
	return (uintptr_t)at + (uintptr_t)((int32_t)(*at << 1) >> 1);
}

static bool next_byte(struct code_of *c, uint8_t *byte)
{
	if (!c->left) {
		if (!c->more || c->word >= c->end)
			return false;
		c->more--;
		c->now = *c->word++;
		c->left = 4;
	}
	*byte = (uint8_t)(c->now >> 24);
	c->now <<= 8;
	c->left--;
	return true;
}

/* The entry of the function at pc, or NULL: two words. */
static const uint32_t *find_entry(const struct module *m, uintptr_t pc)
{
	if (!m || !m->eh_frame_hdr_end)
		return NULL;
	const uint32_t *table = (const uint32_t *)m->eh_frame_hdr;
	size_t from = 0, to = (m->eh_frame_hdr_end - m->eh_frame_hdr) / 8;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (prel31(table + 2 * middle) <= pc)
			from = middle + 1;
		else
			to = middle;
	}
	return from ? table + 2 * (from - 1) : NULL;
}

/* The instructions of an entry. MTW_TRUNC_NONE, or why there are none. */
static unsigned code_at(const struct module *m, const uint32_t *entry, struct code_of *c)
{
	uintptr_t low, high;

	*c = (struct code_of){ .now = entry[1] << 8, .left = 3 };
	if (entry[1] == CANTUNWIND)
		return MTW_TRUNC_NO_CFI;
	if (entry[1] >> 31) /* in place; only the short form fits */
		return entry[1] >> 24 == 0x80 ? MTW_TRUNC_NONE : MTW_TRUNC_BAD_CFI;
	uintptr_t at = prel31(entry + 1);
	if ((at & 3) || !mt_maps_segment(m, at, &low, &high) || high - at < 8)
		return MTW_TRUNC_BAD_CFI;
	c->word = (const uint32_t *)at;
	c->end = (const uint32_t *)(high & ~(uintptr_t)3);
	if (!(*c->word >> 31)) { /* a language's own routine; its data begins as the ABI's do */
		c->word++;
		c->more = *c->word >> 24;
		c->now = *c->word++ << 8;
		return MTW_TRUNC_NONE;
	}
	unsigned form = *c->word >> 24 & 0x7f;
	if (form > 2)
		return MTW_TRUNC_BAD_CFI;
	c->more = form ? *c->word >> 16 & 0xff : 0;
	c->left = form ? 2 : 3;
	c->now = *c->word++ << (form ? 16 : 8);
	return MTW_TRUNC_NONE;
}

/* Registers of `mask`, lowest first, from the virtual stack. */
static bool pop(struct known *known, uint32_t *r, uint32_t mask)
{
	uint32_t vsp = r[SP], popped[16];

	for (unsigned i = 0; i < 16; i++) {
		if (!(mask & 1u << i))
			continue;
		if ((vsp & 3) || !unwind_readable(known, vsp))
			return false;
		popped[i] = *(const uint32_t *)(uintptr_t)vsp;
		vsp += 4;
	}
	r[SP] = vsp;
	for (unsigned i = 0; i < 16; i++)
		if (mask & 1u << i)
			r[i] = popped[i];
	return true;
}

/* 1000iiii iiiiiiii, 1011.... and 11......: false: unknown, or it says that the frame cannot be
 * left. */
static bool run_long(struct known *known, struct code_of *c, uint32_t *r, uint8_t op)
{
	uint8_t next = 0;

	if (op >> 3 == 0x17) { /* pop VFP, as FSTMFDX put them: a word more */
		r[SP] += ((op & 7u) + 1) * 8 + 4;
		return true;
	}
	if (op >> 3 == 0x1a) { /* pop d8.. */
		r[SP] += ((op & 7u) + 1) * 8;
		return true;
	}
	if (op == 0xb4) /* pop the authentication code of the return address */
		return pop(known, r, 1u << 12);
	if (op == 0xb2) { /* vsp += 0x204 + (uleb128 << 2) */
		uint32_t v = 0;
		for (unsigned shift = 0; shift < 28; shift += 7) {
			if (!next_byte(c, &next))
				return false;
			v |= (next & 0x7fu) << shift;
			if (!(next & 0x80)) {
				r[SP] += 0x204 + (v << 2);
				return true;
			}
		}
		return false;
	}
	if (!next_byte(c, &next))
		return false;
	if (op >> 4 == 8) {
		uint32_t mask = ((op & 15u) << 8 | next) << 4;
		c->sp_saved |= mask >> SP & 1;
		return mask && pop(known, r, mask);
	}
	switch (op) {
	case 0xb1: return next && !(next & 0xf0) && pop(known, r, next);
	case 0xb3: r[SP] += ((next & 15u) + 1) * 8 + 4; return true;
	case 0xc8:
	case 0xc9: r[SP] += ((next & 15u) + 1) * 8; return true;
	}
	return false; /* iWMMXt, spare */
}

/* The whole entry: r becomes the caller's. */
static bool run(struct known *known, struct code_of *c, uint32_t *r)
{
	bool whole = false;
	uint8_t op;

	r[PC] = 0;
	while (!whole && next_byte(c, &op)) {
		if (op < 0x40)
			r[SP] += (op << 2) + 4u;
		else if (op < 0x80)
			r[SP] -= ((op & 0x3fu) << 2) + 4;
		else if (op >> 4 == 9 && op != 0x9d && op != 0x9f)
			r[SP] = r[op & 15];
		else if (op >> 4 == 10) {
			if (!pop(known, r, ((2u << (op & 7)) - 1) << 4 | (op & 8 ? 1u << LR : 0)))
				return false;
		} else if (op == 0xb0)
			whole = true;
		else if (!run_long(known, c, r, op))
			return false;
	}
	if (!r[PC])
		r[PC] = r[LR];
	return true;
}

/* Code without a caller: the program's entry, the function that clone() starts, a coroutine's
 * first. */
static bool is_start(uintptr_t pc)
{
	uintptr_t entry = pc_code(getauxval(AT_ENTRY)), cloned = pc_code((uintptr_t)LIBC(clone));

	return pc - entry < START_BYTES || (cloned && pc - cloned < CLONE_BYTES) ||
	       mt_cfi_is_coroutine_end(pc, true);
}

/* libc's function that threads begin in is known by its place only. */
bool mt_unwind_begins(uintptr_t sp)
{
	return (uintptr_t)mt_thread_pointer() - sp < CONTROL_BYTES;
}

static bool is_libc(const struct module *m)
{
	return m && atomic_load_explicit(&m->xflags, memory_order_relaxed) & MTW_MODULE_LIBC;
}

/* How the stack pointer moves, and where the return address is then: both from where it was. false:
 * not by itself. */
static bool measure(struct code_of *c, uint32_t *moves, uint32_t *return_at)
{
	uint32_t at = 0;
	uint8_t op, next;

	*return_at = UINT32_MAX;
	while (next_byte(c, &op) && op != 0xb0) {
		uint32_t mask = 0;
		if (op < 0x40)
			at += (op << 2) + 4u;
		else if (op >> 4 == 10)
			mask = ((2u << (op & 7)) - 1) << 4 | (op & 8 ? 1u << LR : 0);
		else if (op >> 4 == 8 && next_byte(c, &next))
			mask = ((op & 15u) << 8 | next) << 4;
		else if (op >> 3 == 0x1a)
			at += ((op & 7u) + 1) * 8;
		else
			return false;
		if (op >= 0x80 && op >> 3 != 0x1a && (!mask || mask & (1u << SP | 1u << PC)))
			return false;
		at += (uint32_t)__builtin_popcount(mask) * 4;
		if (mask & 1u << LR)
			*return_at = at - 4;
	}
	*moves = at;
	return *return_at != UINT32_MAX;
}

uint64_t mt_unwind_ehabi_rule(const struct module *m, uintptr_t pc)
{
	const uint32_t *entry = find_entry(m, pc - 2);
	struct code_of code;
	uint32_t moves, return_at;
	unsigned reason = entry ? code_at(m, entry, &code) : MTW_TRUNC_NO_CFI;

	if (is_start(pc))
		return rule_pack(RULE_END, 0, 0);
	if (reason)
		return rule_pack(RULE_NONE | reason << RULE_REASON_SHIFT |
					 (is_libc(m) ? RULE_FIRST : 0),
				 0, 0);
	if (!measure(&code, &moves, &return_at) || return_at != moves - WORD ||
	    moves > RULE_OFFSET_MAX)
		return rule_pack(RULE_SLOW, 0, 0);
	return rule_pack(RULE_FAST | RULE_SP, moves, 0);
}

static bool step(struct known *known, struct regs_of *at, unsigned *reason)
{
	uintptr_t pc = at->r[PC] - 2; /* in the call */
	const struct module *m = mt_maps_find(pc);
	const uint32_t *entry = find_entry(m, pc);
	uint32_t sp = at->r[SP];
	struct code_of code;

	*reason = entry ? code_at(m, entry, &code) : MTW_TRUNC_NO_CFI;
	if (is_start(at->r[PC]) ||
	    (*reason == MTW_TRUNC_NO_CFI && is_libc(m) && mt_unwind_begins(sp))) {
		*reason = MTW_TRUNC_NONE;
		return false;
	}
	if (*reason)
		return false;
	*reason = MTW_TRUNC_BAD_CFI;
	uint32_t from = at->r[PC];
	if (!run(known, &code, at->r))
		return false;
	at->r[PC] &= ~1u;
	/* A leaf leaves sp unchanged; only a signal's frame saves sp, and may lead to any stack. */
	if (code.sp_saved ? !mt_unwind_enter(known, at->r[SP], false)
			  : at->r[SP] < sp || (at->r[SP] == sp && at->r[PC] == from))
		return false;
	*reason = MTW_TRUNC_NONE;
	return at->r[PC] != 0;
}

/* The registers of the function that this is part of, in the middle of it. */
MT_INLINE void here(struct regs_of *at)
{
	uint32_t pc;

	memset(at, 0, sizeof(*at));
	__asm__ volatile(
		"str r4, [%1, #16]; str r5, [%1, #20]; str r6, [%1, #24]; str r7, [%1, #28]\n\t"
		"str r8, [%1, #32]; str r9, [%1, #36]; str r10, [%1, #40]; str r11, [%1, #44]\n\t"
		"str sp, [%1, #52]; mov %0, pc"
		: "=&r"(pc)
		: "r"(at->r)
		: "memory");
	at->r[PC] = pc_code(pc);
}

/* Outwards to the frame at sp that runs at pc, `most` steps at most: past the agent's own frames,
 * or some of the stack. */
static bool reach(struct known *known, struct regs_of *at, uintptr_t pc, uintptr_t sp,
		  uint32_t most, unsigned *reason)
{
	for (uint32_t i = 0; at->r[SP] != sp || at->r[PC] != pc; i++)
		if (i == most || !step(known, at, reason))
			return false;
	return true;
}

__attribute__((noinline)) bool mt_unwind_ehabi_leave(struct known *known, const struct regs *r,
						     uint32_t depth, uintptr_t *pc, uintptr_t *sp,
						     unsigned *reason)
{
	struct regs_of at;

	here(&at);
	*reason = MTW_TRUNC_BAD_CFI;
	if (!mt_unwind_enter(known, at.r[SP], true) ||
	    !reach(known, &at, pc_code(r->pc), r->sp, OWN_FRAMES, reason) ||
	    !reach(known, &at, pc_code(*pc), *sp, depth, reason))
		return false;
	bool on = step(known, &at, reason);
	*pc = on ? at.r[PC] : 0;
	*sp = at.r[SP];
	return on || *reason == MTW_TRUNC_NONE;
}

__attribute__((noinline)) int mt_unwind_ehabi_walk(struct thread *t, const struct regs *r,
						   uintptr_t *out, int max, unsigned *reason)
{
	struct known known = { .foreign = false };
	struct regs_of at;
	int n = 0;

	(void)t;
	here(&at);
	*reason = MTW_TRUNC_BAD_CFI;
	if (max < 1 || !mt_unwind_enter(&known, r->sp, true))
		return 0;
	out[n++] = pc_code(r->pc);
	if (!mt_unwind_enter(&known, at.r[SP], true) ||
	    !reach(&known, &at, pc_code(r->pc), r->sp, OWN_FRAMES, reason))
		return n;
	while (step(&known, &at, reason)) {
		if (n == max) {
			*reason = MTW_TRUNC_DEPTH;
			break;
		}
		out[n++] = at.r[PC];
	}
	return n;
}
#else
typedef int mt_unwind_ehabi_none; /* a file may not be empty */
#endif
