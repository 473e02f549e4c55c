/* SPDX-License-Identifier: MIT
 *
 * unwind_fp.c - stacks by frame pointers: for machines whose ABI keeps them (AArch64).
 *
 * A frame record is two words, the caller's record and the return address, at the frame pointer;
 * both x86-64 (push %rbp; mov %rsp,%rbp) and AArch64 (stp x29, x30) lay it out so. Records must
 * lie ever further out; the outermost one is followed by 0. Pointer authentication codes are
 * stripped from return addresses: user addresses have 48 bits at most in the low half.
 */
#include "unwind.h"

#if defined(__aarch64__)
#define CODE_MASK (((uintptr_t)1 << 48) - 1)
#else
#define CODE_MASK (~(uintptr_t)0 >> 1)
#endif

int mt_unwind_fp_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		      unsigned *reason)
{
	struct known known = { .foreign = false };
	uintptr_t sp = r->sp, fp = r->fp;
	int n = 0;

	(void)t;
	*reason = MTW_TRUNC_NONE;
	if (!mt_unwind_enter(&known, sp, true)) {
		*reason = MTW_TRUNC_BAD_CFI;
		return 0;
	}
	for (uintptr_t pc = r->pc & CODE_MASK; pc;) {
		if (n == max) {
			*reason = MTW_TRUNC_DEPTH;
			break;
		}
		out[n++] = pc;
		if (!fp)
			break;
		if (fp < sp || (fp & (sizeof(uintptr_t) - 1)) || !unwind_readable(&known, fp) ||
		    !unwind_readable(&known, fp + sizeof(uintptr_t))) {
			*reason = MTW_TRUNC_BAD_CFI;
			break;
		}
		const uintptr_t *record = (const uintptr_t *)fp;
		sp = fp + 2 * sizeof(uintptr_t);
		fp = record[0];
		pc = record[1] & CODE_MASK;
	}
	return n;
}
