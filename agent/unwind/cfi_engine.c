/* SPDX-License-Identifier: MIT
 *
 * cfi_engine.c - stacks by unwind tables: the rule of each pc, and a walk that stores nothing.
 */
#include "unwind/cfi_engine.h"
#include "base/stack_bounds.h"
#include "cfi/cfi.h"
#include "unwind/cfi_step.h"

#include <memtop/wire.h>

uint64_t mt_unwind_cfi_rule(const struct module *m, uintptr_t pc)
{
	return mt_cfi_rule(m, pc_lookup(pc), pc & PC_EXACT);
}

int mt_unwind_cfi_list(const struct regs *r, uintptr_t *out, int max, unsigned *reason,
		       next_frame next)
{
	struct known known = { .foreign = false };
	struct cfi_regs regs = { .known = 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_BP };
	int n = 0;

	regs.value[CFI_RA] = r->pc;
	regs.value[CFI_SP] = r->sp;
	regs.value[CFI_BP] = r->fp;
	*reason = MTW_TRUNC_BAD_CFI;
	if (!mt_unwind_enter(&known, r->sp, true))
		return 0;
	do {
		if (n == max) {
			*reason = MTW_TRUNC_DEPTH;
			return n;
		}
		out[n++] = regs.value[CFI_RA];
	} while (next(&known, &regs, reason));
	return n;
}

/* The plain walk: all registers, every table read again. */
int mt_unwind_cfi_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		       unsigned *reason)
{
	(void)t;
	return mt_unwind_cfi_list(r, out, max, reason, mt_cfi_step);
}
