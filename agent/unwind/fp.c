/* SPDX-License-Identifier: MIT
 *
 * fp.c - stacks by frame pointers: for machines whose ABI keeps them (AArch64), and for programs
 * built with -fno-omit-frame-pointer.
 *
 * A frame record is two words at the frame pointer, the caller's record and the return address;
 * both x86-64 (push %rbp; mov %rsp,%rbp) and AArch64 (stp x29, x30) lay it out so. Each record must
 * lie further out than the one before; 0 follows the outermost one. Pointer authentication codes
 * are stripped from return addresses: user addresses have 48 bits at most in the low half.
 *
 * Code that uses the register otherwise (-fomit-frame-pointer, most libraries) makes the walk skip
 * functions or end. Whatever the register holds, only the stack is read, and a word that is no
 * return address ends the walk as truncated. A pc outside every module passes for generated code if
 * a call instruction precedes it (x86-64).
 *
 * On AArch64 code must prove that it keeps a record: by its unwind table, else by how it returns.
 * ART's compiled code keeps none and leaves x29 to a frame further out: following that record would
 * silently hide functions. So the walk ends, with the reason, at code outside every module (the
 * JIT's, whatever its mapping is called), in ART's own files, and where a table says that the
 * function keeps none.
 *
 * Through a signal handler the walk continues with the registers that the kernel saved. The
 * interrupted function may have no record, or not yet (AArch64: a function that calls none never
 * has one). There its unwind table gives the caller; without a table the walk ends (on x86-64 it
 * continues with the next record).
 */
#include "unwind/fp.h"
#include "base/prim_linux.h"
#include "base/stack_bounds.h"
#include "cfi/cfi.h"
#include "cfi/outermost.h"
#include "modules/maps.h"
#include "modules/segments.h"
#include "unwind/cfi_engine.h"
#include "unwind/cfi_step.h"
#include "unwind/fp_evidence.h"
#include "unwind/rule.h"

#include <memtop/wire.h>
#include <string.h>

#define WORD sizeof(uintptr_t)

/* The caller's frame pointer is at fp, the return address above it; the place above that counts as
 * its sp. */
#define RECORD rule_pack(RULE_FAST | RULE_BP | RULE_SAVED | RULE_RECORD, 2 * WORD, -(int)(2 * WORD))
/* No return address: something else was in the register. It is no frame. */
#define STRAY rule_pack(RULE_NONE | RULE_OWN | MTW_TRUNC_BAD_CFI << RULE_REASON_SHIFT, 0, 0)

struct frame_state {
	uintptr_t pc, sp, fp;
};

static bool record_at(struct known *known, uintptr_t sp, uintptr_t fp)
{
	return fp >= sp && !(fp & (WORD - 1)) && unwind_readable(known, fp) &&
	       unwind_readable(known, fp + WORD);
}

static bool leave(struct known *known, struct frame_state *p, unsigned *reason);

#if defined(__x86_64__)
/* The interrupted frame behind a handler's, whose ucontext lies at p->sp. */
static bool leave_signal(struct known *known, struct frame_state *p, struct cfi_regs *r)
{
	uintptr_t context = p->sp;

	(void)r;
	if ((context & (WORD - 1)) || !unwind_readable(known, context + UC_BP) ||
	    !unwind_readable(known, context + UC_PC))
		return false;
	p->pc = *(const uintptr_t *)(context + UC_PC) | PC_EXACT;
	p->fp = *(const uintptr_t *)(context + UC_BP);
	p->sp = *(const uintptr_t *)(context + UC_SP);
	return mt_unwind_enter(known, p->sp, false);
}

static bool leave_interrupted(struct known *known, struct frame_state *p, struct cfi_regs *r,
			      unsigned *reason)
{
	(void)r;
	return leave(known, p, reason);
}

uint64_t mt_unwind_fp_rule(const struct module *m, uintptr_t pc)
{
	uint32_t flags = m ? atomic_load_explicit(&m->xflags, memory_order_relaxed) : 0;
	uint64_t by_table =
		flags & (MTW_MODULE_LIBC | MTW_MODULE_VDSO) ? mt_unwind_cfi_rule(m, pc) : 0;

	if ((by_table & RULE_KIND) == RULE_SIGNAL)
		return by_table;
	return m || pc & PC_EXACT || mt_unwind_evidence_call(pc) ? RECORD : STRAY;
}
#elif defined(__aarch64__)
/* arch/arm64/kernel/signal.c: a handler's stack pointer points to a siginfo, the ucontext, more
 * room for vector registers, and a frame record of the interrupted x29 and x30, which the handler's
 * own record leads to. */
#define CONTEXT_BYTES 4560u
#define CONTEXT_MOST (CONTEXT_BYTES + 24576u)
#define UC_X29 (UC_X0 + 29 * WORD)
#define UC_X30 (UC_X0 + 30 * WORD)

static bool word_is(struct known *known, uintptr_t at, uintptr_t is)
{
	return unwind_readable(known, at) && *(const uintptr_t *)at == is;
}

/* p->fp: the kernel's record. The interrupted frame, with all registers in *r. */
static bool leave_signal(struct known *known, struct frame_state *p, struct cfi_regs *r)
{
	const uintptr_t *record = (const uintptr_t *)p->fp;
	uintptr_t context = p->fp - CONTEXT_BYTES;

	if (!record_at(known, p->sp, p->fp))
		return false;
	while (!word_is(known, context + UC_X29, record[0]) ||
	       !word_is(known, context + UC_X30, record[1])) {
		context -= 16;
		if (context < p->sp || p->fp - context > CONTEXT_MOST)
			return false;
	}
	if (!mt_cfi_leave_signal(known, context, r))
		return false;
	*p = (struct frame_state){ r->value[CFI_RA], r->value[CFI_SP], r->value[CFI_BP] };
	return true;
}

static bool leave_interrupted(struct known *known, struct frame_state *p, struct cfi_regs *r,
			      unsigned *reason)
{
	if (!mt_cfi_step(known, r, reason))
		return false;
	*p = (struct frame_state){ r->value[CFI_RA], r->value[CFI_SP], r->value[CFI_BP] };
	return true;
}

#define CODE_MOST 2048u /* instructions that are read to a function's end */

/* ldp x29, x30, [sp, #n]; ldp x29, x30, [sp], #n */
static bool takes_record(uint32_t insn)
{
	return (insn & 0xffc07fff) == 0xa9407bfd || (insn & 0xffc07fff) == 0xa8c07bfd;
}

/* ret; retaa, retab */
static bool returns(uint32_t insn)
{
	return insn == 0xd65f03c0 || (insn & 0xfffffbff) == 0xd65f0bff;
}

/* Code without a table: does it take x29 and x30 from a record on its first way out? */
static bool shows_record(const struct module *m, uintptr_t pc)
{
	for (uintptr_t at = pc & ~(uintptr_t)3, end = at + CODE_MOST * 4; at < end; at += 4) {
		if ((at == (pc & ~(uintptr_t)3) || !(at & 4095)) &&
		    (!mt_maps_runs(m, at) || !mt_prim_readable(at, 4)))
			return false;
		uint32_t insn = *(const uint32_t *)at;
		if (takes_record(insn) || returns(insn))
			return takes_record(insn);
	}
	return false;
}

/* What ART compiles ahead of time; its linker may list it. */
static bool is_art(const struct module *m)
{
	static const char *const ends[] = { ".oat", ".odex", ".art", ".vdex" };
	const char *dot = strrchr(m->path, '.');

	for (size_t i = 0; dot && i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(dot, ends[i]))
			return true;
	return false;
}

/* MTW_TRUNC_NONE: the function keeps a record; else the reason why that is unproved. */
static unsigned record_of(const struct module *m, uintptr_t pc)
{
	struct cfi_row row;

	if (!m)
		return MTW_TRUNC_NO_CFI;
	if (mt_cfi_row(m, pc_lookup(pc), &row) != MTW_TRUNC_NONE)
		return !is_art(m) && shows_record(m, pc) ? MTW_TRUNC_NONE : MTW_TRUNC_NO_CFI;
	const struct cfi_state *s = &row.state;
	bool last = s->how[CFI_RA] == CFI_UNDEFINED;
	bool both = s->how[CFI_BP] == CFI_OFFSET && s->how[CFI_RA] == CFI_OFFSET &&
		    s->value[CFI_RA] == s->value[CFI_BP] + (int64_t)WORD;
	return last || both ? MTW_TRUNC_NONE : MTW_TRUNC_BAD_CFI;
}

uint64_t mt_unwind_fp_rule(const struct module *m, uintptr_t pc)
{
	if (pc < 4096)
		return STRAY;
	if (mt_cfi_is_coroutine_end(pc_lookup(pc), pc & PC_EXACT))
		return rule_pack(RULE_END, 0, 0);
	if (!(pc & PC_EXACT) && mt_cfi_is_sigreturn(pc))
		return rule_pack(RULE_SIGNAL, 0, 0);
	unsigned reason = pc & PC_EXACT ? MTW_TRUNC_NONE : record_of(m, pc);
	return reason ? rule_pack(RULE_NONE | reason << RULE_REASON_SHIFT, 0, 0) : RECORD;
}
#else
static bool leave_signal(struct known *known, struct frame_state *p, struct cfi_regs *r)
{
	(void)known, (void)p, (void)r;
	return false;
}

static bool leave_interrupted(struct known *known, struct frame_state *p, struct cfi_regs *r,
			      unsigned *reason)
{
	(void)r;
	return leave(known, p, reason);
}

uint64_t mt_unwind_fp_rule(const struct module *m, uintptr_t pc)
{
	(void)m;
	return pc >= 4096 ? RECORD : STRAY;
}
#endif

/* From the frame at p to its caller's. false: *reason says why, or NONE at the end. */
static bool leave(struct known *known, struct frame_state *p, unsigned *reason)
{
	*reason = MTW_TRUNC_NONE;
	if (!p->fp)
		return false;
	*reason = MTW_TRUNC_BAD_CFI;
	if (!record_at(known, p->sp, p->fp))
		return false;
	const uintptr_t *record = (const uintptr_t *)p->fp;
	p->sp = p->fp + 2 * WORD;
	p->fp = record[0];
	p->pc = pc_code(pc_bare(record[1]));
	if (p->pc)
		return true;
	*reason = MTW_TRUNC_NONE;
	return false;
}

/* Steps outwards from p: lists its pc, for a signal's return also the interrupted pc and its
 * caller. false: *reason says why it ends. */
static bool put(struct known *known, struct frame_state *p, uintptr_t *out, int *n, int max,
		unsigned *reason)
{
	uint64_t rule = mt_unwind_fp_rule(mt_maps_find(pc_lookup(p->pc)), p->pc);

	*reason = MTW_TRUNC_BAD_CFI;
	if (rule & RULE_OWN)
		return false;
	out[(*n)++] = p->pc;
	if ((rule & RULE_KIND) == RULE_NONE || (rule & RULE_KIND) == RULE_END) {
		*reason = rule_reason(rule);
		return false;
	}
	if ((rule & RULE_KIND) != RULE_SIGNAL)
		return true;
	struct cfi_regs r;
	if (*n == max || !leave_signal(known, p, &r)) {
		*reason = *n == max ? MTW_TRUNC_DEPTH : MTW_TRUNC_BAD_CFI;
		return false;
	}
	out[(*n)++] = p->pc;
	if (!leave_interrupted(known, p, &r, reason))
		return false;
	if (*n < max)
		return put(known, p, out, n, max, reason);
	*reason = MTW_TRUNC_DEPTH;
	return false;
}

int mt_unwind_fp_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		      unsigned *reason)
{
	struct known known = { .foreign = false };
	struct frame_state p = { pc_code(r->pc), r->sp, r->fp };
	int n = 0;

	(void)t;
	*reason = MTW_TRUNC_BAD_CFI;
	if (!mt_unwind_enter(&known, p.sp, true))
		return 0;
	do {
		if (n == max) {
			*reason = MTW_TRUNC_DEPTH;
			break;
		}
	} while (put(&known, &p, out, &n, max, reason) && leave(&known, &p, reason));
	return n;
}
