/* SPDX-License-Identifier: MIT
 *
 * unwind_fp.c - stacks by frame pointers: for machines whose ABI keeps them (AArch64), and for
 * programs built with -fno-omit-frame-pointer.
 *
 * A frame record is two words, the caller's record and the return address, at the frame pointer;
 * both x86-64 (push %rbp; mov %rsp,%rbp) and AArch64 (stp x29, x30) lay it out so. Records must
 * lie ever further out; the outermost one is followed by 0. Pointer authentication codes are
 * stripped from return addresses: user addresses have 48 bits at most in the low half.
 *
 * Code that uses the register for something else (-fomit-frame-pointer, most libraries) makes this
 * skip functions or end: whatever is in the register, only the stack is read, and what is no return address
 * ends the walk as truncated. A pc outside every module passes for generated code if a call
 * instruction stands before it. Through a signal handler the walk goes on with the registers that the
 * kernel saved (x86-64); on AArch64 the kernel's own frame record leads on, to the caller of what
 * was interrupted.
 */
#include "maps.h"
#include "rule.h"
#include "stacks.h"
#include "unwind.h"
#include "cfi.h"

#include <memtop/wire.h>

#define WORD sizeof(uintptr_t)

#if defined(__aarch64__)
#define CODE_MASK (((uintptr_t)1 << 48) - 1)
#else
#define CODE_MASK (~PC_EXACT)
#endif

struct place {
	uintptr_t pc, sp, fp;
};

static bool record_at(struct known *known, uintptr_t sp, uintptr_t fp)
{
	return fp >= sp && !(fp & (WORD - 1)) && unwind_readable(known, fp) &&
	       unwind_readable(known, fp + WORD);
}

#if defined(__x86_64__)
#define UC_BP 120 /* in the ucontext at a signal frame's sp */
#define UC_SP 160
#define UC_PC 168

/* Does a handler return to pc? Asked for the C library's pcs alone; remembered with the location. */
static bool returns_from_signal(const struct module *m, uintptr_t pc)
{
	code_id code = mt_stacks_code_in(pc, MTW_NODE_CODE, m);
	_Atomic uint64_t *place = code ? mt_stacks_rule(code) : NULL;
	uint64_t rule = place ? atomic_load_explicit(place, memory_order_relaxed) : 0;

	if (!rule) {
		rule = mt_cfi_rule(m, pc - 1, false);
		if (place)
			atomic_store_explicit(place, rule, memory_order_relaxed);
	}
	return (rule & RULE_KIND) == RULE_SIGNAL;
}

/* call rel32; call r/m64 of 2, 3, 4, 6, 7 bytes; rel32 through a prefix ends as the first does. */
static bool follows_call(uintptr_t pc)
{
	const uint8_t *at = (const uint8_t *)pc;

	if (pc < 65536 || !mt_prim_readable(pc - 7, 8))
		return false;
	if (at[-5] == 0xe8)
		return true;
	for (unsigned bytes = 2; bytes <= 7; bytes++)
		if (at[-(int)bytes] == 0xff && (at[1 - (int)bytes] & 0x38) == 0x10)
			return true;
	return false;
}

/* The interrupted frame behind a handler's, whose ucontext lies at p->sp. */
static bool leave_signal(struct known *known, struct place *p)
{
	uintptr_t context = p->sp;

	if ((context & (WORD - 1)) || !unwind_readable(known, context + UC_BP) ||
	    !unwind_readable(known, context + UC_PC))
		return false;
	p->pc = *(const uintptr_t *)(context + UC_PC) | PC_EXACT;
	p->fp = *(const uintptr_t *)(context + UC_BP);
	p->sp = *(const uintptr_t *)(context + UC_SP);
	return mt_unwind_enter(known, p->sp, false);
}

/* Is the pc of a frame plausible, and does it lead into a signal frame? */
static bool judge(uintptr_t pc, bool *signal)
{
	const struct module *m = mt_maps_find(pc - 1);

	*signal = m && (atomic_load_explicit(&m->xflags, memory_order_relaxed) &
			(MTW_MODULE_LIBC | MTW_MODULE_VDSO)) && returns_from_signal(m, pc);
	return m || follows_call(pc);
}
#else
static bool leave_signal(struct known *known, struct place *p)
{
	(void)known, (void)p;
	return false;
}

static bool judge(uintptr_t pc, bool *signal)
{
	*signal = false;
	return pc >= 4096;
}
#endif

/* From the frame at p to its caller's. false: *reason says why, or NONE at the end. */
static bool leave(struct known *known, struct place *p, unsigned *reason)
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
	p->pc = record[1] & CODE_MASK;
	if (p->pc)
		return true;
	*reason = MTW_TRUNC_NONE;
	return false;
}

/* Outwards from p: its pc, and what a signal interrupted there. false: *reason says why it ends. */
static bool put(struct known *known, struct place *p, uintptr_t *out, int *n, int max, unsigned *reason)
{
	bool signal = false;

	*reason = MTW_TRUNC_BAD_CFI;
	if (*n && !judge(p->pc, &signal)) /* the first is where we were called from */
		return false;
	out[(*n)++] = p->pc;
	if (!signal)
		return true;
	if (*n == max || !leave_signal(known, p)) {
		*reason = *n == max ? MTW_TRUNC_DEPTH : MTW_TRUNC_BAD_CFI;
		return false;
	}
	out[(*n)++] = p->pc;
	return true;
}

int mt_unwind_fp_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		      unsigned *reason)
{
	struct known known = { .foreign = false };
	struct place p = { r->pc & CODE_MASK, r->sp, r->fp };
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
