/* SPDX-License-Identifier: MIT
 *
 * leave.h - one step of a walk: from a frame to its caller. The common way is inline in
 * unwind/incremental.c.
 */
#ifndef MT_UNWIND_LEAVE_H
#define MT_UNWIND_LEAVE_H

#include "base/compiler.h"
#include "base/stack_bounds.h"
#include "base/types.h"
#include "unwind/incremental.h"
#include "unwind/rule.h"

#define WORD sizeof(uintptr_t)

struct walk {
	struct unwind_cache *u;
	const struct regs *r;
	/* the last new frame: they are put down from the end, so outermost first */
	struct frame *next;
	struct frame *full; /* ... where the limit is met */
	/* once it has ended otherwise than by meeting the kept stack: */
	unsigned base;     /* why it ended: enum mtw_truncation */
	uintptr_t zero_at; /* where a return address of 0 ended it; 0 = it ended otherwise */
	bool listed;       /* its stack can be taken as a list only */
};

/* Where a frame that is left by a plain rule, and ends at cfa, has its caller's bp. */
MT_INLINE uintptr_t plain_bp_at(const struct call *call, uintptr_t cfa)
{
	return cfa - call->bp * WORD;
}

/* ... any frame that has it. */
MT_INLINE uintptr_t step_bp_at(const struct step *f, uintptr_t cfa)
{
	return f->call.shape & FRAME_BY_RULE ? f->bp_at : plain_bp_at(&f->call, cfa);
}

/* Where the frame at f, which ends at cfa, has its return address. */
MT_INLINE uintptr_t return_at(const struct step *f, uintptr_t cfa)
{
	return BY_RECORDS ? step_bp_at(f, cfa) + WORD : cfa - WORD;
}

/* Between two frames. */
struct frame_state {
	uintptr_t pc, sp, bp;
};

enum left { LEFT_ON, LEFT_LAST, LEFT_BROKEN };

MT_INLINE uintptr_t word_at(uintptr_t addr)
{
	return *(const uintptr_t *)addr;
}

/* An address that a rule came to: a word that may be read? */
MT_INLINE bool is_word(struct unwind_cache *u, uintptr_t addr)
{
	if (unlikely(addr & (WORD - 1)))
		return false;
	return likely(unwind_word_in(&u->known.at[0], addr)) || mt_unwind_reach(&u->known, addr);
}

#pragma GCC visibility push(hidden)

/* Leaves `f` for its caller *to by a rule that is not common. When that cannot be, it says why in
 * w->base. */
enum left mt_unwind_leave_rare(struct walk *w, struct step *f, uint64_t rule,
			       struct frame_state *to);
/* The return address is 0, or none that a program can have. LEFT_ON: *at is a frame nevertheless.
 */
enum left mt_unwind_leave_last(struct walk *w, const struct step *f, struct frame_state *at);

#pragma GCC visibility pop

#endif
